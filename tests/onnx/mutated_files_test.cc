#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/framework/quantization/calibrator.h"
#include "kusari/tests/onnx/model_builder.h"
#include "kusari/tests/scratch_directory.h"

// Damaged ONNX files: each is refused by one of the library's errors, or loaded and run, or refused when it is run.
// $KUSARI_MUTATED_FILES says how many; a build with sanitizers takes 20,000 in some minutes.
using namespace kusari;
using kusari::testing::ScratchDirectory;

namespace {

namespace F = functions;
namespace L = links;

/// xorshift64*: the same damage on every machine.
class Damage {
 public:
  explicit Damage(uint64_t seed) : state_{seed} {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  size_t below(size_t n) { return n == 0 ? 0 : next() % n; }

  std::string operator()(std::string file) {
    const size_t times = 1 + below(4);
    for (size_t i = 0; i < times && !file.empty(); ++i) {
      const size_t at = below(file.size()), length = 1 + below(16);
      switch (below(8)) {
        case 0:
          file[at] = static_cast<char>(file[at] ^ (1 << below(8)));
          break;
        case 1:
          file[at] = static_cast<char>(next());
          break;
        case 2:
          file.resize(at);
          break;
        case 3:
          file.erase(at, length);
          break;
        case 4:
          file.insert(at, file.substr(below(file.size()), length));
          break;
        case 5: {  // a length or a number becomes extreme, as protobuf writes it
          const char* const kExtremes[] = {"\x00", "\x7f", "\xff\xff\xff\xff\x07",
                                           "\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                                           "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
          const std::string value = kExtremes[below(std::size(kExtremes))];
          file.replace(at, below(2) == 0 ? 1 : value.size(), value);
          break;
        }
        case 6: {  // a letter of a name
          const size_t letter = file.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", at);
          if (letter != file.npos) file[letter] = static_cast<char>('A' + below(58));
          break;
        }
        default:
          for (size_t k = at; k < std::min(file.size(), at + length); ++k) file[k] = static_cast<char>(next());
          break;
      }
    }
    return file;
  }

 private:
  uint64_t state_;
};

class SmallCnn : public Chain {
 public:
  SmallCnn()
      : conv1{*this, "conv1", 3, 4, 3, {.pad = 1}},
        bn{*this, "bn", 4},
        conv2{*this, "conv2", 4, 4, 3, {.pad = 1, .groups = 4}},
        fc{*this, "fc", 4 * 2 * 2, 3} {}
  Variable operator()(const Variable& x) const {
    const Variable h = F::max_pooling_2d(F::relu(bn(conv1(x))), 2);
    return fc(F::reshape(F::max_pooling_2d(F::relu(conv2(h)) + h, 2), {-1, 16}));
  }

 private:
  Child<L::Convolution2D> conv1;
  Child<L::BatchNormalization> bn;
  Child<L::Convolution2D> conv2;
  Child<L::Linear> fc;
};

std::vector<std::string> originals() {
  const ScratchDirectory folder;
  std::vector<std::string> files;
  const Array x = full({2, 3, 8, 8}, 0.5, Dtype::float32);
  SmallCnn cnn;
  onnx::export_model(cnn, {Variable(x, false)}, folder / "cnn.onnx", {.dynamic_batch = true});
  files.push_back(testing::read_file(folder / "cnn.onnx"));
  quantization::Calibrator calibrator(cnn);
  calibrator.observe(x);
  auto quantized = calibrator.quantized();
  onnx::export_model(quantized, {Variable(x, false)}, folder / "int8.onnx");
  files.push_back(testing::read_file(folder / "int8.onnx"));
  // What computes with shapes on the host.
  ModelBuilder shapes;
  const int64_t two[] = {0, -1}, axes[] = {1}, starts[] = {0}, ends[] = {2};
  const auto numbers = [](const int64_t* values, int64_t n) { return from_host(values, {n}, Dtype::int64); };
  shapes.input("x", {"n", 6})
      .initializer("two", numbers(two, 2))
      .initializer("axes", numbers(axes, 1))
      .initializer("starts", numbers(starts, 1))
      .initializer("ends", numbers(ends, 1))
      .node("Slice", {"x", "starts", "ends", "axes"}, {"s"}, {})
      .node("Shape", {"s"}, {"size"}, {})
      .node("ConstantOfShape", {"size"}, {"zeros"}, {})
      .node("Expand", {"s", "size"}, {"wide"}, {})
      .node("Add", {"wide", "zeros"}, {"sum"}, {})
      .node("Reshape", {"sum", "two"}, {"y"}, {})
      .output("y");
  files.push_back(shapes.bytes());
  // What optimizers and exporters of language models write.
  ModelBuilder fused;
  const auto reals = [](const Shape& shape) { return full(shape, 0.5, Dtype::float32); };
  const auto bytes = [](const Shape& shape) { return full(shape, 3, Dtype::uint8); };
  const int64_t last[] = {3}, total[] = {4};
  fused.input("x", {1, 2, 32})
      .initializer("w", bytes({48, 2, 8}))
      .initializer("scales", reals({48, 2}))
      .initializer("past", reals({1, 1, 2, 16}))
      .initializer("last", numbers(last, 1).astype(Dtype::int32))
      .initializer("total", numbers(total, 1).astype(Dtype::int32))
      .initializer("table", reals({4, 8}))
      .initializer("lstm_w", bytes({1, 16, 8}))
      .initializer("lstm_r", bytes({1, 2, 8}))
      .initializer("scale", reals({1}))
      .initializer("zero", bytes({1}))
      .node("MatMulNBits", {"x", "w", "scales"}, {"qkv"},
            {{"K", int64_t{32}}, {"N", int64_t{48}}, {"bits", int64_t{4}}, {"block_size", int64_t{16}}},
            "com.microsoft")
      .node("GroupQueryAttention", {"qkv", "", "", "past", "past", "last", "total", "table", "table"},
            {"attended", "keys", "values"},
            {{"num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}, {"do_rotary", int64_t{1}}}, "com.microsoft")
      .node("MultiHeadAttention", {"attended", "attended", "attended"}, {"again"}, {{"num_heads", int64_t{2}}},
            "com.microsoft")
      .node("DynamicQuantizeLSTM", {"again", "lstm_w", "lstm_r", "", "", "", "", "", "scale", "zero", "scale", "zero"},
            {"y"}, {{"hidden_size", int64_t{2}}}, "com.microsoft")
      .output("y");
  files.push_back(fused.bytes());
  return files;
}

int mutated_files() {
  const char* const given = std::getenv("KUSARI_MUTATED_FILES");
  return given != nullptr ? std::atoi(given) : 1500;
}

/// Addresses for 8 GiB more than there are now, while it lives, so that a file which asks for terabytes gets an error.
/// Sanitizers' own memory is not to be limited.
class LimitedMemory {
 public:
  LimitedMemory() {
    ::getrlimit(RLIMIT_AS, &before_);
#if !defined(__SANITIZE_ADDRESS__)
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = std::min(limit.rlim_max, pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{8} << 30));
    ::setrlimit(RLIMIT_AS, &limit);
#endif
  }
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;
  ~LimitedMemory() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

/// Runs a model whose inputs are small.
void call(const onnx::Model& model) {
  Variables inputs;
  for (const onnx::Argument& input : model.inputs()) {
    if (!input.shape || !input.dtype) return;
    Shape shape;
    int64_t elements = 1;
    for (const int64_t size : *input.shape) {
      shape.push_back(size < 0 ? 2 : size);
      if (shape.ndim() > 6 || shape[shape.ndim() - 1] > 1000) return;
      elements *= shape[shape.ndim() - 1];
      if (elements > 100000) return;
    }
    inputs.push_back(Variable(zeros(shape, *input.dtype), false));
  }
  const auto no_graph = no_backprop_mode();
  const auto no_training = using_config(&Config::train, false);
  (void)model.call(inputs);
}

}  // namespace

TEST_CASE("damaged ONNX files are refused by errors, or loaded") {
  const LimitedMemory limited;
  const std::vector<std::string> files = originals();
  for (const std::string& file : files) call(onnx::load_bytes(file));
  Damage damage(11);
  int loaded = 0, run = 0;
  const int count = mutated_files();
  for (int i = 0; i < count; ++i) {
    const std::string mutant = damage(files[static_cast<size_t>(i) % files.size()]);
    const auto start = std::chrono::steady_clock::now();
    try {
      const onnx::Model model = onnx::load_bytes(mutant);
      ++loaded;
      call(model);
      ++run;
    } catch (const Error&) {
    } catch (const std::exception& error) {
      FAIL_CHECK(i << ": not one of the library's errors: " << error.what());
    }
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(10)) FAIL_CHECK(i << ": took seconds");
  }
  MESSAGE(count << " files, " << loaded << " loaded, " << run << " run");
  CHECK(loaded < count);
  CHECK(run > 0);
}
