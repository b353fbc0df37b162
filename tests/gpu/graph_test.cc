#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/tests/gpu/convolution_cases.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/text_search.h"

// What Backend::begin_graph and its relatives promise.
namespace kusari::testing {
namespace {

namespace F = functions;
namespace L = links;

/// With KUSARI_TEST_GRAPHS=1 each kernel that a test launches from its own thread is recorded, and runs as a graph,
/// except for what its first use keeps from being recorded.
class EachLaunchAsGraph final : public LaunchObserver {
 public:
  void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
    if (launch.device.is_cpu()) return proceed(launch);
    Backend& backend = launch.device.backend();
    const int index = launch.device.index();
    try {
      backend.begin_graph(index);
    } catch (const StateError&) {  // the test itself records
      return proceed(launch);
    }
    try {
      proceed(launch);
    } catch (const StateError&) {
      backend.abandon_graph(index);
      ++refused;
      return proceed(launch);
    } catch (...) {
      backend.abandon_graph(index);
      throw;
    }
    void* const graph = backend.end_graph(index);
    backend.run_graph(index, graph);
    backend.destroy_graph(index, graph);
    ++run;
  }

  int64_t run = 0, refused = 0;
};

struct GraphsEverywhere {
  EachLaunchAsGraph observer;
  std::optional<ScopedLaunchObserver> installed;
  GraphsEverywhere() {
    const char* const setting = std::getenv("KUSARI_TEST_GRAPHS");
    if (setting != nullptr && std::string(setting) == "1") installed.emplace(observer);
  }
  ~GraphsEverywhere() {
    if (!installed) return;
    std::printf("%lld kernels ran as graphs, %lld could not\n", static_cast<long long>(observer.run),
                static_cast<long long>(observer.refused));
  }
};
GraphsEverywhere graphs_everywhere;

/// Work recorded once.
class Recorded {
 public:
  template <class Work>
  Recorded(const Device& device, const Work& work) : device_{device} {
    backend().begin_graph(device.index());
    try {
      work();
    } catch (...) {
      backend().abandon_graph(device.index());
      throw;
    }
    graph_ = backend().end_graph(device.index());
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() { backend().destroy_graph(device_.index(), graph_); }

  void run() { backend().run_graph(device_.index(), graph_); }
  size_t bytes() const { return backend().graph_bytes(device_.index(), graph_); }

 private:
  Backend& backend() const { return device_.backend(); }

  Device device_;
  void* graph_ = nullptr;
};

Array graph_numbers(const Shape& shape, uint64_t seed, const Device& device, Dtype dtype = Dtype::float32) {
  return uniform_array(shape, -1, 1, dtype, seed).to_device(device);
}

/// A kernel with scratch memory, if x has many rows.
void sum_columns(const Array& x, const Array& y) {
  launch<kernels::Reduction<kernels::Sum>>(x.device(), kernels::Sum{}, AxisMask::of(0), x, y);
}

TEST_CASE("graphs: nothing is done while work is recorded, and each run does it anew") {
  const auto device = gpu_device();
  if (!device) return;
  REQUIRE(device->backend().has_graphs());
  const Array x = full({1000}, 1, Dtype::float32, *device), y = full({1000}, 7, Dtype::float32, *device);
  Recorded graph(*device, [&] {
    pointwise_to(y, kernels::Add{}, y, x);
    pointwise_to(y, kernels::Mul{}, y, y);
  });
  CHECK(y.slice(0, 3, 1).item<double>() == 7);
  graph.run();
  CHECK(y.slice(0, 3, 1).item<double>() == 64);
  x.fill(-60);
  graph.run();
  CHECK(y.slice(0, 999, 1).item<double>() == 16);
  for (int i = 0; i < 3; ++i) {  // runs take turns with other work
    y.fill(i);
    x.fill(1);
    graph.run();
    CHECK(y.slice(0, 0, 1).item<double>() == (i + 1) * (i + 1));
  }
}

class GraphNet : public Chain {
 public:
  GraphNet()
      : conv{*this, "conv", 3, 8, 3, L::Convolution2D::Options{.pad = 1}},
        norm{*this, "norm", 8},
        fc{*this, "fc", 8 * 3 * 3, 10} {}
  Variable operator()(const Variable& x, const Variable& t) {
    const Variable h = F::max_pooling_2d(F::relu(norm(conv(x))), 2, {.stride = 2});
    return F::softmax_cross_entropy(fc(F::dropout(h, 0.25)), t);
  }

  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> norm;
  Child<L::Linear> fc;
};

TEST_CASE("graphs: a whole forward and backward pass, with memory that it allocates, is replayed") {
  const auto device = gpu_device();
  if (!device) return;
  const auto deterministic = using_config(&Config::cudnn_deterministic, true);
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    const auto in_dtype = using_config(&Config::dtype, dtype);
    GraphNet net;
    uint64_t at = 0;
    for (Parameter* p : net.params()) p->array().copy_from(uniform_array(p->shape(), -0.3, 0.3, dtype, ++at));
    net.to(*device);
    const auto images = [&](uint64_t seed) { return graph_numbers({6, 3, 6, 6}, seed, *device, dtype); };
    const Array x = images(1);
    const Array t = uniform_array({6}, 0, 10, Dtype::float32, 2).astype(Dtype::int32).to_device(*device);
    const auto step = [&] {
      net.cleargrads();
      Variable loss = net(Variable(x, false), Variable(t, false));
      loss.backward();
      std::vector<Array> results = {loss.array()};
      for (Parameter* p : net.params()) results.push_back(p->grad());
      return results;
    };
    const auto copies = [](const std::vector<Array>& arrays) {
      std::vector<Array> result;
      for (const Array& a : arrays) result.push_back(a.to_device(Device()));
      return result;
    };
    const RandomState begin = random::state();
    (void)step();  // first uses
    std::vector<Array> results;
    random::set_state(begin);
    Recorded graph(*device, [&] { results = step(); });
    CHECK(graph.bytes() > 0);
    for (const uint64_t seed : {3, 4, 5}) {
      CAPTURE(seed);
      x.copy_from(images(seed));
      graph.run();
      const std::vector<Array> got = copies(results);
      random::set_state(begin);
      const std::vector<Array> expected = copies(step());
      for (size_t i = 0; i < got.size(); ++i) check_same(got[i], expected[i], 4);
    }
  }
}

TEST_CASE("graphs: other work never gets the memory that they use within kernels") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = graph_numbers({20000, 3}, 1, *device), y = empty({3}, Dtype::float32, *device);
  const Array a = graph_numbers({64, 96}, 2, *device), b = graph_numbers({96, 48}, 3, *device);
  const Array c = empty({64, 48}, Dtype::float32, *device);
  const auto work = [&] {
    sum_columns(x, y);
    launch<kernels::Matmul>(*device, a, b, Array(), kernels::MatmulOptions{}, c);
    c.copy_from(b.slice(0, 0, 64).astype(Dtype::float64).astype(Dtype::float32));  // memory of arrays, too
  };
  work();
  const Array expected = y.to_device(Device());
  Recorded first(*device, work);
  Recorded second(*device, work);  // shares the memory with the first
  CHECK(first.bytes() > 0);
  std::vector<Array> others;
  for (int32_t i = 0; i < 60; ++i) others.push_back(full({int64_t{1} << (i % 20)}, i, Dtype::int32, *device));
  for (int round = 0; round < 3; ++round) {
    y.fill(0);
    (round == 1 ? second : first).run();
    others.push_back(full({4096}, static_cast<int32_t>(others.size()), Dtype::int32, *device));
    check_same(y, expected, 0);
  }
  device->backend().release_cached(device->index());  // not that of graphs
  first.run();
  check_same(y, expected, 0);
  for (size_t i = 0; i < others.size(); ++i) {
    CHECK(others[i].to_vector<int32_t>() ==
          std::vector<int32_t>(static_cast<size_t>(others[i].size()), static_cast<int32_t>(i)));
  }
}

TEST_CASE("graphs: their memory is the pool's again when the last of a stream goes") {
  const auto device = gpu_device();
  if (!device) return;
  Backend& backend = device->backend();
  const Array x = graph_numbers({20000, 3}, 1, *device), y = empty({3}, Dtype::float32, *device);
  sum_columns(x, y);
  backend.release_cached(device->index());
  const memory::Statistics before = backend.memory_statistics(device->index());
  {
    Recorded graph(*device, [&] { sum_columns(x, y); });
    graph.run();
    backend.release_cached(device->index());
    CHECK(backend.memory_statistics(device->index()).reserved > before.reserved);
    CHECK(backend.memory_statistics(device->index()).allocated == before.allocated);
  }
  backend.release_cached(device->index());
  CHECK(backend.memory_statistics(device->index()).reserved == before.reserved);
}

/// The message with which recording `work` fails.
template <class Work>
std::string refusal(const Device& device, const Work& work) {
  try {
    const Recorded graph(device, work);
  } catch (const StateError& error) {
    return error.what();
  }
  return "nothing";
}
TEST_CASE("graphs: what cannot be recorded is named, and the device goes on") {
  const auto device = gpu_device();
  if (!device) return;
  Backend& backend = device->backend();
  const int index = device->index();
  const Array x = full({5}, 2, Dtype::float32, *device), host = full({5}, 3, Dtype::float32);
  const auto check = [&](const std::string& what, const std::function<void()>& work) {
    CAPTURE(what);
    const std::string message = refusal(*device, work);
    CAPTURE(message);
    CHECK(contains(message, what));
    CHECK(contains(message, "cannot be recorded in a CUDA graph"));
    CHECK(contains(message, "cuda:"));
    CHECK(x.slice(0, 1, 1).item<double>() == 2);  // afterwards all is well
  };
  check("a copy to the host", [&] { (void)x.slice(0, 0, 1).item<double>(); });
  check("a copy to the host", [&] { host.copy_from(x); });
  check("a copy from the host", [&] { x.copy_from(host); });
  check("a copy from the host", [&] { (void)array<float>({1, 2}, *device); });
  check("page-locked", [&] { (void)empty_pinned({5}, Dtype::float32, *device); });
  check("a wait for the device", [&] { backend.synchronize(index); });
  void* const event = backend.create_event(index);
  check("an event", [&] { backend.record_event(index, event); });
  check("a wait for an event", [&] { backend.synchronize_event(index, event); });
  backend.destroy_event(index, event);
  Recorded other(*device, [&] { x.fill(2); });
  check("the run of another graph", [&] { other.run(); });

  const auto at_first_use = [&](const std::string& what, const std::function<void()>& work) {
    CAPTURE(what);
    const std::string message = refusal(*device, work);
    CAPTURE(message);
    CHECK(contains(message, what));
    CHECK(contains(message, "at its first use"));
    work();
    CHECK(refusal(*device, work) == "nothing");
  };
  const Array a = graph_numbers({37, 53}, 1, *device), b = graph_numbers({53, 41}, 2, *device);
  const Array c = empty({37, 41}, Dtype::float32, *device);
  const auto product = [&] { launch<kernels::Matmul>(*device, a, b, Array(), kernels::MatmulOptions{}, c); };
  product();  // a handle of cuBLASLt, and workspace
  const Array narrow = empty({37, 29}, Dtype::float32, *device);
  at_first_use("cuBLASLt's algorithm", [&] {
    launch<kernels::Matmul>(*device, a, b.slice(1, 0, 29), Array(), kernels::MatmulOptions{}, narrow);
  });
  kernels::Convolution geometry = ConvolutionCase{.x = {2, 8, 9, 11}, .w = {8, 8, 3, 3}, .pad = {1, 1}}.geometry();
  const Array images = graph_numbers({2, 8, 9, 11}, 3, *device), w = graph_numbers({8, 8, 3, 3}, 4, *device);
  const Array result = empty({2, 8, 9, 11}, Dtype::float32, *device);
  const Array fewer = empty({1, 8, 9, 11}, Dtype::float32, *device);
  launch<kernels::ConvolutionForward>(*device, geometry, images, w, Array(), result);
  at_first_use("cuDNN's plan for convolution", [&] {
    launch<kernels::ConvolutionForward>(*device, geometry, images.slice(0, 0, 1), w, Array(), fewer);
  });
  const auto tuned = using_config(&Config::autotune, true);
  at_first_use("the timing of cuBLASLt's algorithms", product);
  geometry.autotune = true;
  at_first_use("the timing of cuDNN's plans",
               [&] { launch<kernels::ConvolutionForward>(*device, geometry, images, w, Array(), result); });
}

TEST_CASE("graphs: begin and end belong together") {
  const auto device = gpu_device();
  if (!device) return;
  Backend& backend = device->backend();
  const int index = device->index();
  CHECK_THROWS_AS(backend.end_graph(index), StateError);
  backend.abandon_graph(index);
  const Array x = full({3}, 1, Dtype::float32, *device);
  const Array y = x.copy();
  Recorded graph(*device, [&] {
    CHECK_THROWS_AS(backend.begin_graph(index), StateError);
    y.copy_from(x);  // still recorded
  });
  x.fill(5);
  CHECK(y.slice(0, 0, 1).item<double>() == 1);
  graph.run();
  CHECK(y.slice(0, 0, 1).item<double>() == 5);
  Recorded nothing(*device, [] {});
  nothing.run();
  CHECK(nothing.bytes() == 0);
}

TEST_CASE("graphs: other threads work meanwhile, and are not recorded") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = full({2000}, 1, Dtype::float32, *device), y = full({2000}, 1, Dtype::float32, *device);
  const Array z = full({2000}, 1, Dtype::float32, *device);
  const Array in = graph_numbers({20000, 3}, 1, *device), sums = empty({3}, Dtype::float32, *device);
  sum_columns(in, sums);
  const Array expected = sums.to_device(Device());
  std::thread waiting;
  Recorded graph(*device, [&] {
    pointwise_to(y, kernels::Add{}, y, x);
    std::thread other([&] {
      for (int i = 0; i < 20; ++i) pointwise_to(z, kernels::Add{}, z.copy(), full({2000}, 1, Dtype::float32, *device));
      CHECK(z.slice(0, 9, 1).item<double>() == 21);
      const Array there = graph_numbers({500}, 1, *device);
      check_same(there, graph_numbers({500}, 1, Device()), 0);
    });
    other.join();
    waiting = std::thread([&] { device->backend().synchronize(device->index()); });  // until the graph is recorded
    std::thread beside([&] {  // a graph of its own, at the same time
      const Array mine = empty({3}, Dtype::float32, *device);
      Recorded own(*device, [&] { sum_columns(in, mine); });
      own.run();
      check_same(mine, expected, 0);
    });
    beside.join();
    sum_columns(in, sums);
  });
  waiting.join();
  sums.fill(0);
  graph.run();
  CHECK(y.slice(0, 9, 1).item<double>() == 2);
  CHECK(z.slice(0, 9, 1).item<double>() == 21);
  check_same(sums, expected, 0);
}

TEST_CASE("graphs: random numbers go on from run to run as they do without graphs") {
  const auto device = gpu_device();
  if (!device) return;
  constexpr uint64_t kSeed = 11;
  for (const uint64_t start : {0, 5}) {
    for (const bool strided : {false, true}) {
      CAPTURE(start);
      CAPTURE(strided);
      constexpr int64_t kCount = 1023;  // the next draw begins within a block of the generator
      const auto like = [&](const Device& where) {
        return in_layout(zeros({kCount}, Dtype::float32, where), strided ? Layout::every_second : Layout::contiguous);
      };
      const auto draw = [&](const Array& x, const Array& y, const Array& mask, const Array& more, RandomState state) {
        launch<kernels::Dropout>(x.device(), kernels::DropoutRatio{0.4}, state, x, y, mask);
        state.offset += kCount;
        launch<kernels::Uniform>(x.device(), kernels::UniformRange{-1, 2}, state, more);
      };
      const Array x = full({kCount}, 1, Dtype::float32, *device);
      const Array y = like(*device), mask = like(*device), more = like(*device);
      const Array base = full({}, static_cast<int64_t>(start), Dtype::int64, *device);
      const Array total = full({}, 2 * kCount, Dtype::int64, *device);
      Recorded graph(*device, [&] {
        draw(x, y, mask, more, {kSeed, 0, base.data<uint64_t>()});
        pointwise_to(base, kernels::Add{}, base, total);
      });
      const Device cpu;
      const Array cpu_x = full({kCount}, 1, Dtype::float32);
      const Array cpu_y = like(cpu), cpu_mask = like(cpu), cpu_more = like(cpu);
      for (uint64_t run = 0; run < 3; ++run) {
        CAPTURE(run);
        graph.run();
        draw(cpu_x, cpu_y, cpu_mask, cpu_more, {kSeed, start + run * 2 * kCount});
        check_same(y, cpu_y, 0);
        check_same(mask, cpu_mask, 0);
        check_same(more, cpu_more, 0);
      }
    }
  }
}

TEST_CASE("graphs: weights that are said to be fixed may change between two runs") {
  const auto device = gpu_device();
  if (!device) return;
  kernels::Convolution geometry = ConvolutionCase{.x = {2, 3, 8, 8}, .w = {16, 3, 3, 3}}.geometry();
  geometry.weights_are_fixed = true;
  const Array x = graph_numbers({2, 3, 8, 8}, 1, *device, Dtype::float16);
  const Array w = graph_numbers({16, 3, 3, 3}, 2, *device, Dtype::float16);
  const Array y = empty({2, 16, 6, 6}, Dtype::float16, *device), expected = empty(y.shape(), y.dtype(), *device);
  const auto convolve = [&](const Array& to) {
    launch<kernels::ConvolutionForward>(*device, geometry, x, w, Array(), to);
  };
  convolve(y);
  Recorded graph(*device, [&] { convolve(y); });
  for (const uint64_t seed : {2, 3, 4}) {
    w.copy_from(graph_numbers(w.shape(), seed, *device, Dtype::float16));
    convolve(expected);
    y.fill(0);
    graph.run();
    check_same(y, expected.to_device(Device()), 0);
  }
}

TEST_CASE("graphs: KUSARI_CUDA_GRAPH_DOT describes each in a file") {
  const auto device = gpu_device();
  if (!device) return;
  const ScratchDirectory scratch;
  const std::string folder = scratch / "graphs";
  std::filesystem::create_directory(folder);
  setenv("KUSARI_CUDA_GRAPH_DOT", folder.c_str(), 1);
  const Array x = full({3}, 1, Dtype::float32, *device);
  {
    const Recorded graph(*device, [&] { x.fill(2); });
  }
  unsetenv("KUSARI_CUDA_GRAPH_DOT");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files += 1;
    CHECK(entry.path().extension() == ".dot");
    CHECK(std::filesystem::file_size(entry.path()) > 10);
  }
  CHECK(files >= 1);
}

}  // namespace
}  // namespace kusari::testing
