#include "kusari/framework/static_graph/instance.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using Values = std::vector<float>;

Values values(const Array& array) { return array.to_vector<float>(); }
Array vector_of(const Values& numbers) { return array<float>(numbers); }

// Takes everything that a kernel may take.
struct Mixed {
  static constexpr const char* kName = "test_instance_mixed";
  using Signature = void(In maybe, InList in, InOutList in_out, OutList out, DeviceScalar, RandomState, Out y);
};
void mixed(In maybe, InList in, InOutList in_out, OutList out, DeviceScalar scalar, RandomState random, Out y) {
  double sum = maybe ? 1000 : 0;
  for (const Array& a : in.arrays()) sum += a.is_defined() ? a.data<float>()[0] : 0.5;
  for (const Array& a : in_out.arrays()) a.data<float>()[0] += 1;
  for (const Array& a : out.arrays()) a.data<float>()[0] = 7;
  y->data<double>()[0] = sum;
  y->data<double>()[1] = scalar->data<double>()[0];
  y->data<double>()[2] = static_cast<double>(random.seed);
  y->data<double>()[3] = static_cast<double>(random.offset);
}

struct Failing {
  static constexpr const char* kName = "test_instance_failing";
  using Signature = void(In x, Out y);
};
bool fails = false;
void failing(In x, Out y) {
  if (fails) throw ValueError("failing: as told");
  y->data<float>()[0] = x->data<float>()[0];
}

void add_test_kernels() {
  Backend& cpu = Device().backend();
  cpu.add<Mixed>(mixed);
  cpu.add<Failing>(failing);
}

// y = (x + w) * x and, backward, gw = gy * x.
struct Product {
  ProgramBuilder builder;
  View x, w, gy, y, gw;

  explicit Product(int64_t n, Export exported = Export::own) {
    builder.program.name = "Product";
    x = builder.input({n});
    w = builder.leaf({n});
    gy = builder.input({n});
    y = builder.array(Slot::Kind::intermediate, {n}, Dtype::float32, exported);
    gw = builder.array(Slot::Kind::intermediate, {n}, Dtype::float32, exported);
    const View sum = builder.pointwise(kernels::Add{}, x, w);
    builder.pointwise_to(y, kernels::Mul{}, sum, x);
    builder.phase = Phase::backward;
    builder.pointwise_to(gw, kernels::Mul{}, gy, x);
  }

  Array forward(Instance& instance, const Array& x_now, const Array& w_now) const {
    instance.begin();
    instance.bind(w.slot, w_now);
    instance.bind(x, x_now);
    instance.run(Phase::forward, {});
    return instance.array_of(y);
  }
  Array backward(Instance& instance, const Array& gy_now) const {
    instance.bind(gy, gy_now);
    instance.run(Phase::backward, {});
    return instance.array_of(gw);
  }
};

TEST_CASE("an instance runs a program with the arrays of today") {
  const Product product(2);
  const Plan plan(product.builder.program);
  Instance instance(plan);
  const Array w = vector_of({10, 20});
  for (const float x : {1.0f, 2.0f, 3.0f}) {
    const Array y = product.forward(instance, vector_of({x, x}), w);
    const Array gw = product.backward(instance, vector_of({5, 7}));
    instance.unbind();
    CHECK(values(y) == Values{(x + 10) * x, (x + 20) * x});
    CHECK(values(gw) == Values{5 * x, 7 * x});
  }

  SUBCASE("an argument may lie anywhere in its storage") {
    const Array many = vector_of({0, 0, 0, 4, 5, 0});
    const Array y = product.forward(instance, many.slice(0, 3, 2), w);
    CHECK(values(y) == Values{56, 125});
  }
  SUBCASE("a leaf may get another array") {
    const Array x = vector_of({1, 2});
    CHECK(values(product.forward(instance, x, vector_of({0, 1}))) == Values{1, 6});
    CHECK(values(product.forward(instance, x, w)) == Values{11, 44});
  }
  SUBCASE("a large argument") {
    const Product large(10'000);
    const Plan large_plan(large.builder.program);
    Instance large_instance(large_plan);
    for (const float x : {1.0f, 2.0f}) {
      const Array y = large.forward(large_instance, full({10'000}, x, Dtype::float32), ones({10'000}));
      large_instance.unbind();
      CHECK(values(y) == Values(10'000, x * x + x));
    }
  }
}

TEST_CASE("views of a slot follow what is bound to it") {
  ProgramBuilder builder;
  const View x = builder.input({2, 3});
  View column = x;
  column.shape = {2};
  column.strides = {3};
  column.offset = 8;
  const View y = builder.result({2});
  builder.pointwise_to(y, kernels::Add{}, column, column);
  const Plan plan(builder.program);
  Instance instance(plan);
  for (const float first : {0.0f, 100.0f}) {
    instance.begin();
    instance.bind(x, array<float>({first, 1, 2, 3, 4, first + 5}, {2, 3}));
    instance.run(Phase::forward, {});
    const Array result = instance.array_of(y);
    const Array same_column = instance.array_of(column);
    instance.unbind();
    CHECK(values(result) == Values{4, 2 * (first + 5)});
    CHECK(values(same_column) == Values{2, first + 5});
  }
}

TEST_CASE("exports are the caller's") {
  const Product product(2);
  const Plan plan(product.builder.program);
  auto instance = std::make_unique<Instance>(plan);
  const Array w = vector_of({0, 0});
  const Array first = product.forward(*instance, vector_of({1, 2}), w);
  CHECK_FALSE(first.is_unique());
  instance->unbind();
  CHECK(first.is_unique());

  View flat = product.y;
  flat.shape = {1, 2};
  flat.strides = {2, 1};
  const Array second = product.forward(*instance, vector_of({3, 4}), w);
  const Array third = instance->array_of(flat);
  instance->unbind();
  instance.reset();
  CHECK(values(first) == Values{1, 4});
  CHECK(values(second) == Values{9, 16});
  CHECK(third.shape() == Shape{1, 2});
  CHECK(third.raw_data() == second.raw_data());
  CHECK_FALSE(third.is_unique());
  CHECK_FALSE(instance);
}

TEST_CASE("an instance lets go of arguments and keeps leaves") {
  const Product product(2);
  const Plan plan(product.builder.program);
  Instance instance(plan);
  const Array w = vector_of({0, 0}), x = vector_of({1, 2});
  product.forward(instance, x, w);
  CHECK_FALSE(x.is_unique());
  instance.unbind();
  CHECK(x.is_unique());
  CHECK(w.storage().references == 1);  // a share of the handle's body, not of the storage
}

TEST_CASE("an export that no view shows whole") {
  ProgramBuilder builder;
  const View x = builder.input({2});
  View half = builder.result({4});
  half.shape = {2};
  half.offset = 8;
  builder.pointwise_to(half, kernels::Add{}, x, x);
  const Plan plan(builder.program);
  Instance instance(plan);
  instance.begin();
  instance.bind(x, vector_of({1, 2}));
  instance.run(Phase::forward, {});
  const Array y = instance.array_of(half);
  instance.unbind();
  CHECK(values(y) == Values{2, 4});
  CHECK(y.offset() == 2);
  CHECK(y.is_unique());
}

TEST_CASE("exports in the arena are good until the next call, and say so") {
  const Product product(2, Export::arena);
  const Plan plan(product.builder.program);
  auto instance = std::make_unique<Instance>(plan);
  const Array w = vector_of({0, 0});
  Array first = product.forward(*instance, vector_of({1, 2}), w);
  instance->unbind();
  CHECK(values(first) == Values{1, 4});
  const void* const address = first.raw_data();

  const Array second = product.forward(*instance, vector_of({3, 4}), w);
  instance->unbind();
  CHECK(second.raw_data() == address);
  CHECK(values(second) == Values{9, 16});
  CHECK_THROWS_WITH_AS(values(first),
                       "Array::to_vector: the array of shape (2,) was computed by an earlier call of static graph "
                       "'Product', which has been called again since and works in the same memory; use it before, "
                       "or copy it",
                       StateError);
  CHECK_THROWS_AS(product.forward(*instance, first, w), StateError);
  instance->unbind();
  CHECK(first.storage().id != second.storage().id);
  first = Array();

  instance.reset();
  CHECK(values(second) == Values{9, 16});  // keeps the memory
}

TEST_CASE("who runs an instance may hand the same array out again") {
  const Product product(2, Export::arena);
  const Plan plan(product.builder.program);
  Instance instance(plan);
  const Array w = vector_of({0, 0});
  const Array y = product.forward(instance, vector_of({1, 2}), w);
  instance.unbind();
  instance.own_references(product.y.slot) = 1;
  product.forward(instance, vector_of({3, 4}), w);
  instance.unbind();
  CHECK(values(y) == Values{9, 16});
  const Array other = y.reshape({2, 1});  // somebody looks at it
  product.forward(instance, vector_of({5, 6}), w);
  CHECK_THROWS_AS(values(y), StateError);
}

TEST_CASE("kernels of replays count as writers") {
  ProgramBuilder builder;
  const View x = builder.input({2});
  const View state = builder.external({2});
  builder.pointwise_to(state, kernels::Add{}, state, x);
  const Plan plan(builder.program);
  Instance instance(plan);
  const Array kept = vector_of({0, 0});
  const uint64_t generation = kept.storage().generation;
  for (int i = 0; i < 2; ++i) {
    instance.begin();
    instance.bind(state.slot, kept);
    instance.bind(x, vector_of({1, 2}));
    instance.run(Phase::forward, {});
    instance.unbind();
  }
  CHECK(values(kept) == Values{2, 4});
  CHECK(kept.storage().generation == generation + 2);
}

TEST_CASE("lists, optional arguments, numbers on the device and random numbers") {
  add_test_kernels();
  ProgramBuilder builder;
  const View x = builder.input({1});
  const View scalar = builder.external({1}, Dtype::float64);
  const View grown = builder.external({1});
  const View out0 = builder.result({1}), out1 = builder.result({1});
  const View y = builder.result({4}, Dtype::float64), z = builder.result({4}, Dtype::float64);
  const auto draw = [](uint64_t offset) {
    Operand operand = params_of(RandomState{.seed = 99, .offset = offset});
    operand.kind = Kind::random_state;
    return operand;
  };
  builder.program.forward_random = 10;
  builder.add<Mixed>({operand_of(Kind::in, View{}), operand_of(Kind::in_list, {x, View{}, x}),
                      operand_of(Kind::in_out_list, {grown}), operand_of(Kind::out_list, {out0, out1}),
                      operand_of(Kind::device_scalar, scalar), draw(0), operand_of(Kind::out, y)});
  builder.phase = Phase::backward;
  builder.add<Mixed>({operand_of(Kind::in, x), operand_of(Kind::in_list, std::vector<View>{}),
                      operand_of(Kind::in_out_list, {grown, grown}), operand_of(Kind::out_list, {out0}),
                      operand_of(Kind::device_scalar, scalar), draw(4), operand_of(Kind::out, z)});
  const Plan plan(builder.program);
  Instance instance(plan);
  const Array rate = array<double>({0.25}), counter = vector_of({0});
  for (const float number : {3.0f, 4.0f}) {
    counter.fill(0);
    instance.begin();
    instance.bind(scalar.slot, rate);
    instance.bind(grown.slot, counter);
    instance.bind(x, vector_of({number}));
    instance.run(Phase::forward, {.seed = 5, .offset = 100});
    CHECK(values(counter) == Values{1});
    instance.run(Phase::backward, {.seed = 6, .offset = 200});
    const Array a = instance.array_of(y), b = instance.array_of(z), out = instance.array_of(out1);
    instance.unbind();
    CHECK(a.to_vector<double>() == std::vector<double>{2 * static_cast<double>(number) + 0.5, 0.25, 5, 100});
    CHECK(b.to_vector<double>() == std::vector<double>{1000, 0.25, 6, 204});
    CHECK(values(counter) == Values{3});
    CHECK(values(out) == Values{7});
  }
  CHECK_FALSE(instance.array_of(View{}).is_defined());
}

TEST_CASE("code of the host runs at its place") {
  ProgramBuilder builder;
  const View x = builder.input({1});
  const View state = builder.external({1});
  const Array kept = vector_of({0});
  Values seen;
  const auto look = [&] { seen.push_back(kept.item<float>()); };
  builder.code(look);
  builder.pointwise_to(state, kernels::Add{}, state, x);
  builder.code(look);
  const Plan plan(builder.program);
  Instance instance(plan);
  for (int i = 0; i < 2; ++i) {
    instance.begin();
    instance.bind(state.slot, kept);
    instance.bind(x, vector_of({1}));
    instance.run(Phase::forward, {});
    instance.unbind();
  }
  CHECK(seen == Values{0, 1, 1, 2});
}

TEST_CASE("constants are computed when what they are made of has changed") {
  ProgramBuilder builder;
  builder.phase = Phase::constant;
  int computed = 0;
  const View w = builder.leaf({2});
  const View doubled = builder.array(Slot::Kind::constant, {2});
  builder.pointwise_to(doubled, kernels::Add{}, w, w);
  builder.code([&] { ++computed; });
  builder.phase = Phase::forward;
  const View x = builder.input({2});
  const View y = builder.result({2});
  builder.pointwise_to(y, kernels::Mul{}, doubled, x);
  const Plan plan(builder.program);
  Instance instance(plan);
  const auto call = [&](const Array& weight) {
    instance.begin();
    instance.bind(w.slot, weight);
    instance.bind(x, vector_of({1, 10}));
    instance.run(Phase::forward, {});
    const Array result = instance.array_of(y);
    instance.unbind();
    return values(result);
  };
  const Array weight = vector_of({1, 2});
  CHECK(call(weight) == Values{2, 40});
  CHECK(call(weight) == Values{2, 40});
  CHECK(computed == 1);
  weight.fill(3);
  CHECK(call(weight) == Values{6, 60});
  CHECK(call(weight) == Values{6, 60});
  CHECK(computed == 2);
  CHECK(call(vector_of({0, 1})) == Values{0, 20});
  CHECK(computed == 3);
  weight.expose();  // from now on it may change without a word
  CHECK(call(weight) == Values{6, 60});
  weight.data<float>()[0] = 1;
  CHECK(call(weight) == Values{2, 60});
}

TEST_CASE("after an exception an instance serves the next call") {
  add_test_kernels();
  ProgramBuilder builder;
  const View x = builder.input({1});
  const View a = builder.temporary({1});
  const View y = builder.result({1});
  builder.add<Failing>({operand_of(Kind::in, x), operand_of(Kind::out, a)});
  builder.pointwise_to(y, kernels::Add{}, a, a);
  const Plan plan(builder.program);
  Instance instance(plan);
  const Array argument = vector_of({2});
  for (const bool fails_now : {false, true, false}) {
    fails = fails_now;
    instance.begin();
    instance.bind(x, argument);
    if (fails_now) {
      CHECK_THROWS_AS(instance.run(Phase::forward, {}), ValueError);
    } else {
      instance.run(Phase::forward, {});
      CHECK(values(instance.array_of(y)) == Values{4});
    }
    instance.unbind();
    CHECK(argument.is_unique());
  }
}

TEST_CASE("arrays without elements") {
  const Product product(0);
  const Plan plan(product.builder.program);
  Instance instance(plan);
  for (int i = 0; i < 2; ++i) {
    const Array y = product.forward(instance, zeros({0}), zeros({0}));
    const Array gw = product.backward(instance, zeros({0}));
    instance.unbind();
    CHECK(y.shape() == Shape{0});
    CHECK(gw.is_unique());
  }
}

TEST_CASE("instances that share scratch") {
  const Product small(3), large(3000);
  const Plan small_plan(small.builder.program), large_plan(large.builder.program);
  const auto scratch = std::make_shared<Scratch>();
  Instance first(small_plan, scratch), second(large_plan, scratch);
  for (const float x : {1.0f, 2.0f}) {
    const Array a = small.forward(first, full({3}, x, Dtype::float32), ones({3}));
    first.unbind();
    const Array b = large.forward(second, full({3000}, x, Dtype::float32), ones({3000}));
    second.unbind();
    CHECK(values(a) == Values(3, x * x + x));
    CHECK(values(b) == Values(3000, x * x + x));
  }
}

TEST_CASE("calls in flight have instances of their own") {
  const Product product(1);
  const Plan plan(product.builder.program);
  Instance first(plan), second(plan);
  const Array w = vector_of({1});
  const Array y0 = product.forward(first, vector_of({2}), w);
  const Array y1 = product.forward(second, vector_of({3}), w);
  CHECK(values(product.backward(second, vector_of({1}))) == Values{3});
  CHECK(values(product.backward(first, vector_of({1}))) == Values{2});
  CHECK(values(y0) == Values{6});
  CHECK(values(y1) == Values{12});
}

TEST_CASE("observers see the kernels of replays") {
  struct Names final : LaunchObserver {
    void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
      seen.emplace_back(launch.name);
      proceed(launch);
    }
    std::vector<std::string> seen;
  };
  const Product product(1);
  const Plan plan(product.builder.program);
  Instance instance(plan);
  const Array w = vector_of({1}), x = vector_of({2});
  Names names;
  Array y;
  {
    const ScopedLaunchObserver scope(names);
    y = product.forward(instance, x, w);
  }
  CHECK(values(y) == Values{6});
  CHECK(names.seen == std::vector<std::string>{"add", "mul"});
}

TEST_CASE("steady replays ask the system for nothing and leave nothing behind") {
  const Product product(50'000);
  const Plan plan(product.builder.program);
  Instance instance(plan);
  const Array w = ones({50'000}), x = ones({50'000}), gy = ones({50'000});
  const auto call = [&] {
    product.forward(instance, x, w);
    product.backward(instance, gy);
    instance.unbind();
  };
  call();
  const memory::Statistics before = memory::statistics();
  for (int i = 0; i < 10; ++i) call();
  const memory::Statistics after = memory::statistics();
  CHECK(after.allocated == before.allocated);
}

}  // namespace
}  // namespace kusari::graphs
