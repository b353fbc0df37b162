#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/onnx/model_builder.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
namespace F = functions;
using kusari::testing::ScratchDirectory;
using onnx::DataType;

namespace {

Array ramp(const Shape& shape, double scale = 0.1) {
  return (arange(numel(shape), Dtype::float32) * scale - 0.5).reshape(shape);
}
Array integers(const std::vector<int64_t>& values) {
  return from_host(values.data(), {static_cast<int64_t>(values.size())}, Dtype::int64);
}

/// y = relu(x W^T + b) V: Gemm, Relu, MatMul.
ModelBuilder mlp() {
  ModelBuilder model;
  model.input("x", {"batch", 4})
      .initializer("l1.weight", ramp({3, 4}))
      .initializer("l1.bias", ramp({3}))
      .initializer("l2/V", ramp({3, 2}))
      .node("Gemm", {"x", "l1.weight", "l1.bias"}, {"h"}, {{"transB", int64_t{1}}})
      .node("Relu", {"h"}, {"r"})
      .node("MatMul", {"r", "l2/V"}, {"y"})
      .output("y");
  return model;
}

void expect_close(const Array& found, const std::vector<double>& expected) {
  const std::vector<double> values = found.to_vector<double>();
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

}  // namespace

TEST_CASE("onnx::load: a model is a link with parameters under their names") {
  onnx::Model model = onnx::load_bytes(mlp().bytes());
  std::vector<std::string> paths;
  for (const auto& [path, parameter] : model.namedparams()) paths.push_back(path);
  CHECK(paths == std::vector<std::string>{"/l1/bias", "/l1/weight", "/l2/V"});
  REQUIRE(model.inputs().size() == 1);
  CHECK(model.inputs()[0].name == "x");
  CHECK(model.inputs()[0].axis_names == std::vector<std::string>{"batch", ""});
  CHECK(*model.inputs()[0].shape == std::vector<int64_t>{-1, 4});
  CHECK(model.operations()[0] == "node 'h' (#1): Gemm (opset 17)");

  const Array x = ramp({2, 4});
  const Array w = ramp({3, 4}), b = ramp({3}), v = ramp({3, 2});
  std::vector<double> expected;
  for (int n = 0; n < 2; ++n) {
    for (int o = 0; o < 2; ++o) {
      double sum = 0;
      for (int j = 0; j < 3; ++j) {
        double h = b.at(j).item<double>();
        for (int k = 0; k < 4; ++k) h += x.at(n).at(k).item<double>() * w.at(j).at(k).item<double>();
        sum += std::max(h, 0.0) * v.at(j).at(o).item<double>();
      }
      expected.push_back(sum);
    }
  }
  expect_close(model(x).array(), expected);

  // Copies and moves compute with their own numbers.
  onnx::Model copied = model;
  copied.param("/l1/weight").set_array(zeros({3, 4}));
  copied.param("/l1/bias").set_array(zeros({3}));
  expect_close(copied(x).array(), {0, 0, 0, 0});
  onnx::Model moved = std::move(model);
  expect_close(moved(x).array(), expected);
}

TEST_CASE("onnx::load: a loaded model is trained") {
  onnx::Model model = onnx::load_bytes(mlp().bytes());
  optimizers::SGD optimizer(0.5);
  optimizer.setup(model);
  const Array x = ramp({2, 4}, 0.3), t = integers({0, 1});
  std::vector<double> losses;
  for (int i = 0; i < 60; ++i) {
    const Variable loss = F::softmax_cross_entropy(model(x), t);
    losses.push_back(loss.item<double>());
    model.cleargrads();
    loss.backward();
    optimizer.update();
  }
  CHECK(losses.back() < 0.6 * losses.front());
}

TEST_CASE("onnx::load: batch normalization and dropout train when config.train") {
  ModelBuilder builder;
  builder.input("x", {"n", 2})
      .initializer("scale", full({2}, 1, Dtype::float32))
      .initializer("shift", zeros({2}))
      .initializer("mean", zeros({2}))
      .initializer("var", full({2}, 1, Dtype::float32))
      .node("BatchNormalization", {"x", "scale", "shift", "mean", "var"}, {"h"},
            {{"epsilon", 0.0f}, {"momentum", 0.5f}})
      .node("Dropout", {"h"}, {"y"})
      .output("y");
  onnx::Model model = onnx::load_bytes(builder.bytes());
  const double numbers[] = {1, 2, 3, 6};
  const Array x = from_host(numbers, {2, 2}, Dtype::float64).astype(Dtype::float32);
  {
    const auto inference = using_config(&Config::train, false);
    expect_close(model(x).array(), {1, 2, 3, 6});
  }
  const auto train = using_config(&Config::train, true);
  const Array y = model(x).array();  // normalized to -1 and 1, then dropped or doubled
  for (const double value : y.to_vector<double>()) CHECK((value == 0 || std::abs(std::abs(value) - 2) < 1e-5));
  // The statistics have moved half way to the batch's.
  const auto inference = using_config(&Config::train, false);
  const Array after = model(zeros({1, 2})).array();
  expect_close(after, {-1.0 / std::sqrt(1.5), -2.0 / std::sqrt(4.5)});
}

TEST_CASE("onnx::load: shapes are worked out on the host, so that static graphs see constants") {
  // y = reshape(x, (shape(x)[0], -1)) + 1, as exporters write a flattening
  ModelBuilder builder;
  builder.input("x", {"n", 2, 3})
      .node("Shape", {"x"}, {"shape"})
      .node("Constant", {}, {"zero"}, {{"value", full({}, 0, Dtype::int64)}})
      .node("Gather", {"shape", "zero"}, {"n"})
      .node("Constant", {}, {"axes"}, {{"value_ints", ModelBuilder::Ints{0}}})
      .node("Unsqueeze", {"n", "axes"}, {"n1"})
      .node("Constant", {}, {"rest"}, {{"value_ints", ModelBuilder::Ints{-1}}})
      .node("Concat", {"n1", "rest"}, {"to"}, {{"axis", int64_t{0}}})
      .node("Reshape", {"x", "to"}, {"flat"})
      .node("Constant", {}, {"one"}, {{"value_float", 1.0f}})
      .node("Add", {"flat", "one"}, {"y"})
      .output("y");
  const onnx::Model model = onnx::load_bytes(builder.bytes());
  const auto no_graph = no_backprop_mode();
  auto replayed = static_graph([&](const Variable& x) { return model(x); });
  for (const int64_t n : {2, 5, 2, 5, 1}) {
    CAPTURE(n);
    const Array x = ramp({n, 2, 3});
    const Array y = replayed(x).array();
    CHECK(y.shape() == Shape{n, 6});
    CHECK((y == x.reshape({n, 6}) + 1).all());
  }
}

TEST_CASE("onnx::load: constants are worked out once, and those not needed are no members") {
  ModelBuilder builder;
  builder.input("x", {2})
      .initializer("a", full({2}, 2, Dtype::float32))
      .node("Constant", {}, {"b"}, {{"value", full({2}, 3, Dtype::float32)}})
      .node("Mul", {"b", "b"}, {"c"})
      .node("Sqrt", {"c"}, {"d"})
      .node("Add", {"x", "d"}, {"y"})
      .output("y");
  onnx::Model model = onnx::load_bytes(builder.bytes());
  CHECK(model.operations().size() == 1);
  CHECK(model.params().empty());
  expect_close(model(zeros({2})).array(), {3, 3});
}

TEST_CASE("onnx::load: If takes its branch, Loop and functions run") {
  ModelBuilder then_graph, else_graph;
  then_graph.node("Mul", {"x", "two"}, {"a"}).output("a");
  else_graph.node("Neg", {"x"}, {"a"}).output("a");
  ModelBuilder branches;
  branches.input("x", {2})
      .input("flag", {}, DataType::bool_)
      .initializer("two", full({}, 2, Dtype::float32))
      .node("If", {"flag"}, {"y"}, {{"then_branch", then_graph.graph()}, {"else_branch", else_graph.graph()}})
      .output("y");
  const onnx::Model conditional = onnx::load_bytes(branches.bytes());
  const Array x = ramp({2}, 1);
  expect_close(conditional.call({x, full({}, 1, Dtype::bool_)})[0].array(), {-1, 1});
  expect_close(conditional.call({x, full({}, 0, Dtype::bool_)})[0].array(), {0.5, -0.5});

  ModelBuilder body;
  body.input("i", {}, DataType::int64)
      .input("cond", {}, DataType::bool_)
      .input("sum", {2})
      .node("Add", {"sum", "x"}, {"next"})
      .node("Identity", {"cond"}, {"go_on"})
      .output("go_on")
      .output("next")
      .output("next");
  ModelBuilder loop;
  loop.input("x", {2})
      .initializer("times", full({}, 3, Dtype::int64))
      .initializer("start", zeros({2}))
      .node("Loop", {"times", "", "start"}, {"last", "all"}, {{"body", body.graph()}})
      .output("last")
      .output("all");
  const Variables sums = onnx::load_bytes(loop.bytes()).call({x});
  expect_close(sums[0].array(), {-1.5, 1.5});
  expect_close(sums[1].array(), {-0.5, 0.5, -1, 1, -1.5, 1.5});

  ModelBuilder with_function;
  with_function
      .function("my", "Leak", {"in"}, {"out"}, {"slope"},
                {ModelBuilder::node_bytes("LeakyRelu", {"in"}, {"h"}, {{"alpha", std::string("@slope")}}),
                 ModelBuilder::node_bytes("Neg", {"h"}, {"out"})})
      .input("x", {2})
      .node("Leak", {"x"}, {"y"}, {{"slope", 0.5f}}, "my")
      .output("y");
  expect_close(onnx::load_bytes(with_function.bytes())(x).array(), {0.25, -0.5});
}

TEST_CASE("onnx::load: a session of a Loop counts its steps") {
  ModelBuilder body;
  body.input("i", {}, DataType::int64)
      .input("cond", {}, DataType::bool_)
      .input("sum", {2})
      .input("list", {})
      .node("Gather", {"x", "i"}, {"row"})
      .node("Add", {"sum", "row"}, {"next"})
      .node("SequenceInsert", {"list", "next"}, {"longer"})
      .output("cond")
      .output("next")
      .output("longer")
      .output("i");
  ModelBuilder loop;
  loop.input("x", {"length", 2})
      .initializer("first", zeros({}, Dtype::int64))
      .initializer("start", zeros({2}))
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "first"}, {"times"})
      .node("SequenceEmpty", {}, {"empty"})
      .node("Loop", {"times", "", "start", "empty"}, {"last", "list", "counts"}, {{"body", body.graph()}})
      .node("ConcatFromSequence", {"list"}, {"all"}, {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}})
      .node("SequenceLength", {"list"}, {"length"})
      .output("all")
      .output("counts")
      .output("length");
  const InferenceSession session(onnx::load_bytes(loop.bytes()));
  for (const int64_t length : {3, 2}) {
    const Array x = ramp({length, 2}, 1);
    const Arrays results = session.run({x});
    CHECK(session.summary().find("define-by-run") == std::string::npos);
    std::vector<float> sums = x.to_vector<float>();
    for (size_t i = 2; i < sums.size(); ++i) sums[i] += sums[i - 2];
    CHECK(results[0].to_vector<float>() == sums);
    CHECK(results[1].to_vector<int64_t>() == arange(length, Dtype::int64).to_vector<int64_t>());
    CHECK(results[2].item<int64_t>() == length);
  }
}

TEST_CASE("onnx::load: a Loop or Scan of no steps gives what the file declares of its results") {
  ModelBuilder body;
  body.input("i", {}, DataType::int64)
      .input("cond", {}, DataType::bool_)
      .node("Add", {"x", "i"}, {"sum"})
      .output("cond")
      .output("sum", DataType::int64, {3, "open"});
  ModelBuilder loop;
  loop.input("x", {3, "open"}, DataType::int64)
      .input("times", {}, DataType::int64)
      .node("Loop", {"times", ""}, {"all"}, {{"body", body.graph()}})
      .output("all");
  const onnx::Model sums = onnx::load_bytes(loop.bytes());
  const auto run = [&](int64_t times) {
    return sums.call({zeros({3, 4}, Dtype::int64), full({}, times, Dtype::int64)})[0].array();
  };
  CHECK(run(2).shape() == Shape{2, 3, 4});
  CHECK(run(0).shape() == Shape{0, 3, 0});
  CHECK(run(0).dtype() == Dtype::int64);

  ModelBuilder step;
  step.input("row", {3}).node("Greater", {"row", "row"}, {"larger"}).output("larger", DataType::bool_, {3});
  ModelBuilder scan;
  scan.input("x", {"length", 3})
      .node("Scan", {"x"}, {"all"},
            {{"body", step.graph()}, {"num_scan_inputs", int64_t{1}}, {"scan_output_axes", ModelBuilder::Ints{-1}}})
      .output("all");
  const onnx::Model comparisons = onnx::load_bytes(scan.bytes());
  CHECK(comparisons(zeros({2, 3})).shape() == Shape{3, 2});
  CHECK(comparisons(zeros({0, 3})).shape() == Shape{3, 0});
  CHECK(comparisons(zeros({0, 3})).dtype() == Dtype::bool_);
}

TEST_CASE("onnx::load: a Scan whose body lacks outputs, a list as an output") {
  ModelBuilder body, scan, list;
  body.input("sum", {3}).input("row", {3}).node("Add", {"sum", "row"}, {"new_sum"});
  scan.input("start", {3})
      .input("x", {"length", 3})
      .node("Scan", {"start", "x"}, {"sum"}, {{"body", body.graph()}, {"num_scan_inputs", int64_t{1}}})
      .output("sum");
  CHECK_THROWS_WITH_AS(onnx::load_bytes(scan.bytes()),
                       "the model: node 'sum' (#1): Scan (opset 17): its body has 0 outputs for 1 carried values",
                       ValueError);
  list.input("x", {3}).node("SequenceConstruct", {"x", "x"}, {"xs"}).output("xs");
  CHECK_THROWS_WITH_AS(onnx::load_bytes(list.bytes()).call({ramp({3}, 1)}),
                       "the model: the output 'xs' is a list (a sequence): outputs must be arrays", TypeError);
}

TEST_CASE("onnx::load: what changed its meaning between versions") {
  const Array x = ramp({2, 3}, 1);
  // Softmax below 13 is over all axes from axis 1 on, which for two axes is the same.
  ModelBuilder old_clip(6), new_clip(13);
  old_clip.input("x", {2, 3}).node("Clip", {"x"}, {"y"}, {{"min", 0.0f}, {"max", 2.0f}}).output("y");
  new_clip.input("x", {2, 3})
      .initializer("lower", full({}, 0, Dtype::float32))
      .initializer("upper", full({}, 2, Dtype::float32))
      .node("Clip", {"x", "lower", "upper"}, {"y"})
      .output("y");
  for (const ModelBuilder& model : {old_clip, new_clip}) {
    expect_close(onnx::load_bytes(model.bytes())(x).array(), {0, 0.5, 1.5, 2, 2, 2});
  }
  ModelBuilder old_softmax(11), new_softmax(13);
  for (ModelBuilder* const model : {&old_softmax, &new_softmax}) {
    model->input("x", {1, 2, 1}).node("Softmax", {"x"}, {"y"}).output("y");
  }
  const Array column = zeros({1, 2, 1});
  expect_close(onnx::load_bytes(old_softmax.bytes())(column).array(), {0.5, 0.5});
  expect_close(onnx::load_bytes(new_softmax.bytes())(column).array(), {1, 1});
  ModelBuilder old_sum(11), new_sum(13);
  old_sum.input("x", {2, 3})
      .node("ReduceSum", {"x"}, {"y"}, {{"axes", ModelBuilder::Ints{1}}, {"keepdims", int64_t{0}}})
      .output("y");
  new_sum.input("x", {2, 3})
      .initializer("axes", integers({1}))
      .node("ReduceSum", {"x", "axes"}, {"y"}, {{"keepdims", int64_t{0}}})
      .output("y");
  for (const ModelBuilder& model : {old_sum, new_sum})
    expect_close(onnx::load_bytes(model.bytes())(x).array(), {1.5, 10.5});
}

TEST_CASE("onnx::load: errors name the node, the operator and its version, all at once") {
  ModelBuilder builder;
  builder.input("x", {2})
      .node("Frobnicate", {"x"}, {"a"})
      .node("Gelu", {"a"}, {"b"}, {{"approximate", std::string("best")}})
      .node("Unwind", {"b"}, {"y"}, {}, "my")
      .output("y");
  CHECK_THROWS_WITH_AS(
      onnx::load_bytes(builder.bytes()),
      "the model: node 'a' (#1): Frobnicate (opset 17) is not supported; node 'b' (#2): Gelu (opset 17): its "
      "attribute approximate is 'best': it must be one of 'none', 'tanh'; node 'y' (#3): Unwind (opset 1, domain "
      "'my') is not supported. In all, operators that are not supported: Frobnicate (1), my.Unwind (1)",
      ValueError);

  const onnx::Model model = onnx::load_bytes(mlp().bytes());
  CHECK_THROWS_WITH_AS(model(zeros({2, 5})), "the model: the input 'x' has shape (2, 5): it must be (batch, 4)",
                       TypeError);
  CHECK_THROWS_WITH_AS(model(zeros({2, 4}, Dtype::int64)),
                       "the model: the input 'x' has dtype int64: it must be float32", TypeError);
  CHECK_THROWS_WITH_AS(model.call({zeros({2, 4}), zeros({2, 4})}), "the model has 1 inputs, 2 were given", ValueError);

  ModelBuilder late;
  late.input("x", {"n", 3}).initializer("w", ramp({4, 2})).node("MatMul", {"x", "w"}, {"y"}).output("y");
  CHECK_THROWS_WITH_AS(onnx::load_bytes(late.bytes())(zeros({1, 3})),
                       doctest::Contains("node 'y' (#1): MatMul (opset 17): F::matmul"), TypeError);

  const auto broken = [](const char* message, const ModelBuilder& wrong) {
    CHECK_THROWS_WITH_AS(onnx::load_bytes(wrong.bytes()), doctest::Contains(message), IoError);
  };
  broken("reads 'z', which nothing before it computes",
         ModelBuilder().input("x", {2}).node("Relu", {"z"}, {"y"}).output("y"));
  broken("nothing computes the output 'z'", ModelBuilder().input("x", {2}).node("Relu", {"x"}, {"y"}).output("z"));
  broken("two values are named 'y'",
         ModelBuilder().input("x", {2}).node("Relu", {"x"}, {"y"}).node("Neg", {"x"}, {"y"}).output("y"));
  CHECK_THROWS_WITH_AS(onnx::load_bytes("no model"), doctest::Contains("the model is damaged"), IoError);
  CHECK_THROWS_WITH_AS(onnx::load_bytes(""), "the model is no ONNX model: it has no graph", IoError);
  CHECK_THROWS_WITH_AS(onnx::load_bytes(ModelBuilder(99).input("x", {2}).output("x").bytes()),
                       "the model was written for opset 99: it must be 1 to 28", ValueError);
  CHECK_THROWS_WITH_AS(onnx::load("there/is/no.onnx"), doctest::Contains("no.onnx"), IoError);
}

TEST_CASE("onnx::load: a few bytes may not ask for terabytes") {
  ModelBuilder builder;
  builder.input("x", {1})
      .initializer("sizes", integers({1000000, 1000000}))
      .node("ConstantOfShape", {"sizes"}, {"big"})
      .node("Add", {"x", "big"}, {"y"})
      .output("y");
  const onnx::Model model = onnx::load_bytes(builder.bytes());
  CHECK_THROWS_WITH_AS(model(zeros({1})),
                       doctest::Contains("ConstantOfShape (opset 17): the result would have shape (1000000, 1000000)"),
                       ValueError);

  // 2^58 int64, whose bits no int64 counts.
  std::string tensor;
  protozero::pbf_writer writer(tensor);
  writer.add_int64(1, int64_t{1} << 58);
  writer.add_int32(2, static_cast<int32_t>(DataType::int64));
  writer.add_string(8, "w");
  writer.add_bytes(9, "");
  ModelBuilder empty;
  empty.input("x", {1}).raw_initializer(tensor).node("Add", {"x", "w"}, {"y"}).output("y");
  CHECK_THROWS_WITH_AS(onnx::load_bytes(empty.bytes()), doctest::Contains("takes 2305843009213693952"), IoError);
}

TEST_CASE("onnx::load: external data lies beside the model, and nowhere else") {
  const ScratchDirectory scratch;
  const std::filesystem::path folder = scratch.path();
  const auto tensor = [](const std::string& location, const std::string& length) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_int64(1, 2);
    writer.add_int32(2, 1);
    writer.add_string(8, "w");
    for (const auto& [key, value] :
         {std::pair<std::string, std::string>{"location", location}, {"offset", "4"}, {"length", length}}) {
      std::string entry;
      protozero::pbf_writer entry_writer(entry);
      entry_writer.add_string(1, key);
      entry_writer.add_string(2, value);
      writer.add_message(13, entry);
    }
    writer.add_enum(14, 1);
    return bytes;
  };
  const auto model = [&](const std::string& location, const std::string& length = "8") {
    ModelBuilder builder;
    builder.input("x", {2}).raw_initializer(tensor(location, length)).node("Add", {"x", "w"}, {"y"}).output("y");
    const std::filesystem::path path = folder / "net.onnx";
    std::ofstream(path, std::ios::binary) << builder.bytes();
    return onnx::load(path.string());
  };
  const float numbers[] = {9, 1, 2};
  std::ofstream(folder / "net.data", std::ios::binary).write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  expect_close(model("net.data")(zeros({2})).array(), {1, 2});
  CHECK_THROWS_WITH_AS(model("net.data", "4"),
                       doctest::Contains("it has 4 bytes of external data: its shape (2,) takes 8"), IoError);
  CHECK_THROWS_WITH_AS(model("../net.data"), doctest::Contains("must not lead out of the model's folder"), IoError);
  CHECK_THROWS_WITH_AS(model("/etc/passwd"), doctest::Contains("must be a path relative to the model"), IoError);
  CHECK_THROWS_WITH_AS(model("other.data"), doctest::Contains("cannot be read"), IoError);
  std::filesystem::create_symlink(folder / "net.data", folder / "link.data");
  CHECK_THROWS_WITH_AS(model("link.data"), doctest::Contains("symbolic link"), IoError);
  std::filesystem::create_hard_link(folder / "net.data", folder / "twin.data");
  CHECK_THROWS_WITH_AS(model("twin.data"), doctest::Contains("plain file with one name"), IoError);
}

TEST_CASE("onnx::load: damaged files give an error or a model, never a crash") {
  ModelBuilder body;
  body.node("Mul", {"y", "two"}, {"a"}).output("a");
  ModelBuilder builder = mlp();
  builder.initializer("two", full({}, 2, Dtype::float32))
      .initializer("yes", full({}, 1, Dtype::bool_))
      .node("If", {"yes"}, {"z"}, {{"then_branch", body.graph()}, {"else_branch", body.graph()}})
      .node("Slice", {"z", "two_ints", "three"}, {"s"})
      .initializer("two_ints", integers({0}))
      .initializer("three", integers({3}))
      .output("z");
  const std::string whole = builder.bytes();
  const auto attempt = [](const std::string& bytes) {
    try {
      const onnx::Model model = onnx::load_bytes(bytes);
      model(ramp({2, 4}));
    } catch (const Error&) {
    }
  };
  for (size_t length = 0; length < whole.size(); ++length) attempt(whole.substr(0, length));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    attempt(bytes);
  }
}
