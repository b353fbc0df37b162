#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/static_graph/instance.h"
#include "kusari/tests/static_graph/program_testing.h"

// What an instance asks of a device that replays graphs by itself, with a device in host memory.
namespace kusari::graphs {
namespace {

using Values = std::vector<float>;

class TapeBackend final : public Backend {
 public:
  using Tape = std::vector<std::function<void()>>;

  const char* name() const override { return "tape"; }
  int device_count() const override { return 1; }
  void* allocate(int, size_t bytes) override { return memory::allocate(bytes); }
  void deallocate(int, void* data, size_t bytes) noexcept override { memory::deallocate(data, bytes); }
  void copy_to_host(int, void* host, const void* data, size_t bytes) override { std::memcpy(host, data, bytes); }
  void copy_from_host(int, void* data, const void* host, size_t bytes) override { std::memcpy(data, host, bytes); }
  void copy_within(int, void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void synchronize(int) override {}

  bool has_graphs() const noexcept override { return true; }
  void begin_graph(int) override {
    recorded_ = std::make_unique<Tape>();
    ++captures;
  }
  void* end_graph(int) override {
    if (fails_at_end) throw DeviceError("tape: spoiled");
    ++live;
    return recorded_.release();
  }
  void abandon_graph(int) noexcept override { recorded_.reset(); }
  void run_graph(int, void* graph) override {
    ++runs;
    for (const auto& work : *static_cast<Tape*>(graph)) work();
  }
  void destroy_graph(int, void* graph) noexcept override {
    --live;
    delete static_cast<Tape*>(graph);
  }

  /// Work of a kernel: done at once or recorded.
  void give(std::function<void()> work) {
    if (recorded_ != nullptr) return recorded_->push_back(std::move(work));
    ++done;
    work();
  }
  bool is_recording() const { return recorded_ != nullptr; }

  int captures = 0, runs = 0, live = 0;
  int done = 0;  // kernels outside graphs
  bool fails_at_end = false;

 private:
  std::unique_ptr<Tape> recorded_;
};

/// y = the seed, the number's place in the stream.
struct Draw {
  static constexpr const char* kName = "test_graphs_draw";
  using Signature = void(RandomState, Out y);
};
/// Cannot be recorded while `is_new`, and fails as the driver would while `is_spoiling`.
struct Picky {
  static constexpr const char* kName = "test_graphs_picky";
  using Signature = void(In x, Out y);
};
bool is_new = false, is_spoiling = false;

TapeBackend& tape();

void copy_axis(const float* x, const Strides& from, float* y, const Strides& to, const Shape& shape, int axis) {
  if (axis == shape.ndim()) {
    *y = *x;
    return;
  }
  for (int64_t i = 0; i < shape[axis]; ++i) {
    copy_axis(x + i * from[axis], from, y + i * to[axis], to, shape, axis + 1);
  }
}
void copy(In x, Out y) {
  tape().give([from = x->data<float>(), to = y->data<float>(), xs = x->strides(), ys = y->strides(),
               shape = y->shape()] { copy_axis(from, xs, to, ys, shape, 0); });
}
void fill(Params<Scalar> value, Out y) {
  tape().give([v = value->as_int64(), y = y->data<int64_t>()] { *y = v; });
}
void add(Params<kernels::Add>, In a, In b, Out y) {
  tape().give([a = a->data<float>(), b = b->data<float>(), y = y->data<float>(), n = y->size()] {
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
  });
}
void add_const(Params<kernels::AddConst> op, In x, Out y) {
  tape().give([x = x->data<int64_t>(), y = y->data<int64_t>(), c = static_cast<int64_t>(op->c)] { *y = *x + c; });
}
void draw(RandomState state, Out y) {
  tape().give([state, y = y->data<float>()] {
    y[0] = static_cast<float>(state.seed);
    y[1] = static_cast<float>(state.offset + (state.base == nullptr ? 0 : *state.base));
  });
}
void picky(In x, Out y) {
  if (is_new && tape().is_recording()) throw StateError("picky: loads code");
  if (is_spoiling && tape().is_recording()) throw DeviceError("picky: spoiled");
  copy(x, y);
}

TapeBackend& tape() {
  static TapeBackend backend;
  static const bool is_ready = [] {
    backend.add<kernels::Copy>(copy);
    backend.add<kernels::Fill>(fill);
    backend.add<kernels::Pointwise<kernels::Add>>(add);
    backend.add<kernels::Pointwise<kernels::AddConst>>(add_const);
    backend.add<Draw>(draw);
    backend.add<Picky>(picky);
    return true;
  }();
  (void)is_ready;
  return backend;
}

Device tape_device() {
  static const kusari::detail::DeviceState state{&tape(), 0, "tape:0"};
  return Device(&state);
}

void reset_counts() {
  TapeBackend& backend = tape();
  backend.captures = backend.runs = backend.done = 0;
}

Array there(const Values& values) { return array<float>(values, tape_device()); }

// y = x + w.
struct Sum {
  ProgramBuilder builder;
  View x, w, y;

  Sum() {
    builder.device = tape_device();
    builder.program.name = "Sum";
    x = builder.input({2});
    w = builder.leaf({2});
    y = builder.result({2});
    builder.pointwise_to(y, kernels::Add{}, x, w);
  }
  Array call(Instance& instance, const Array& x_now, const Array& w_now) const {
    instance.begin();
    instance.bind(w.slot, w_now);
    instance.bind(x, x_now);
    instance.run(Phase::forward, {});
    const Array result = instance.array_of(y);
    instance.unbind();
    return result;
  }
};

TEST_CASE("a device captures the second call of an instance and replays it from then on") {
  const Sum sum;
  const Plan plan(sum.builder.program);
  CHECK(plan.uses_graphs());
  auto instance = std::make_unique<Instance>(plan);
  reset_counts();
  const Array w = there({10, 20});
  for (const float x : {1.0f, 2.0f, 3.0f, 4.0f}) {
    CHECK(sum.call(*instance, there({x, x}), w).to_vector<float>() == Values{x + 10, x + 20});
  }
  CHECK(tape().captures == 1);
  CHECK(tape().runs == 3);
  CHECK(tape().done == 4 + 1);  // copies of arguments, the first call's kernel
  CHECK(tape().live == 1);

  SUBCASE("another leaf is captured when it stays") {
    const Array other = there({1, 2});
    for (int i = 0; i < 3; ++i) CHECK(sum.call(*instance, there({0, 0}), other).to_vector<float>() == Values{1, 2});
    CHECK(tape().captures == 2);
    CHECK(tape().runs == 3 + 2);
    CHECK(tape().live == 1);
    for (int i = 0; i < 5; ++i) {
      CHECK(sum.call(*instance, there({0, 0}), there({1, 2})).to_vector<float>() == Values{1, 2});
    }
    CHECK(tape().captures == 2);
    CHECK(tape().live == 0);
  }
  SUBCASE("writing counts") {
    const Array x = there({0, 0});
    const uint64_t before = sum.call(*instance, x, w).storage().generation;
    CHECK(sum.call(*instance, x, w).storage().generation == before + 1);
  }
  SUBCASE("observers see kernels one by one") {
    struct Counter final : LaunchObserver {
      void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
        count += launch.name == std::string("add") ? 1 : 0;
        proceed(launch);
      }
      int count = 0;
    } counter;
    {
      const ScopedLaunchObserver scope(counter);
      sum.call(*instance, there({0, 0}), w);
    }
    CHECK(counter.count == 1);
    CHECK(tape().runs == 3);
  }
  instance.reset();
  CHECK(tape().live == 0);
}

TEST_CASE("results of a graph are stale after the next call, for those who hold them") {
  const Sum sum;
  const Plan plan(sum.builder.program);
  auto instance = std::make_unique<Instance>(plan);
  const Array w = there({0, 0});
  const Array first = sum.call(*instance, there({1, 2}), w);
  CHECK_FALSE(first.is_unique());  // autograd must not take it for a gradient of its own
  CHECK(first.to_vector<float>() == Values{1, 2});
  const Array second = sum.call(*instance, there({3, 4}), w);
  CHECK_THROWS_AS(first.to_vector<float>(), StateError);
  CHECK(second.raw_data() == first.raw_data());
  instance.reset();
  CHECK(second.to_vector<float>() == Values{3, 4});
}

TEST_CASE("a result may be an argument of the next call") {
  const Sum sum;
  const Plan plan(sum.builder.program);
  Instance instance(plan);
  const Array w = there({1, 2});
  Array state = there({0, 0});
  for (int i = 0; i < 4; ++i) state = sum.call(instance, state, w);
  CHECK(state.to_vector<float>() == Values{4, 8});
}

TEST_CASE("graphs draw from the stream where it stands") {
  ProgramBuilder builder;
  builder.device = tape_device();
  builder.program.forward_random = 10;
  builder.program.backward_random = 5;
  const auto add_draw = [&](const View& y, uint64_t offset) {
    Operand state = params_of(RandomState{.seed = 99, .offset = offset});
    state.kind = Kind::random_state;
    builder.add<Draw>({state, operand_of(Kind::out, y)});
  };
  const View a = builder.result({2}), b = builder.result({2}), c = builder.result({2});
  add_draw(a, 0);
  add_draw(b, 4);
  builder.phase = Phase::backward;
  add_draw(c, 1);
  const Plan plan(builder.program);
  Instance instance(plan);
  const auto call = [&](uint64_t seed, uint64_t first) {
    CAPTURE(first);
    const auto s = static_cast<float>(seed), f = static_cast<float>(first);
    instance.begin();
    instance.run(Phase::forward, {.seed = seed, .offset = first});
    instance.run(Phase::backward, {.seed = seed, .offset = first + 10});
    CHECK(instance.array_of(a).to_vector<float>() == Values{s, f});
    CHECK(instance.array_of(b).to_vector<float>() == Values{s, f + 4});
    CHECK(instance.array_of(c).to_vector<float>() == Values{s, f + 11});
    instance.unbind();
  };
  call(1, 100);
  reset_counts();
  call(1, 115);
  CHECK(tape().done == 2);  // tells the graphs of both phases where to begin
  call(1, 130);
  call(1, 145);
  CHECK(tape().done == 2);  // they count on by themselves
  CHECK(tape().captures == 2);
  call(1, 300);  // somebody else has drawn
  CHECK(tape().done == 4);
  CHECK(tape().captures == 2);
  call(2, 0);
  CHECK(tape().captures == 4);
  CHECK(tape().live == 2);
}

TEST_CASE("code of the host divides a graph") {
  ProgramBuilder builder;
  builder.device = tape_device();
  const View x = builder.input({1});
  const View state = builder.external({1});
  const Array kept = there({0});
  Values seen;
  const auto look = [&] { seen.push_back(*kept.data<float>()); };
  builder.pointwise_to(state, kernels::Add{}, state, x);
  builder.pointwise_to(state, kernels::Add{}, state, x);
  builder.code(look);
  builder.code(look);
  builder.pointwise_to(state, kernels::Add{}, state, x);
  builder.code(look);
  const Plan plan(builder.program);
  CHECK(plan.uses_graphs());
  Instance instance(plan);
  reset_counts();
  for (int i = 0; i < 3; ++i) {
    instance.begin();
    instance.bind(state.slot, kept);
    instance.bind(x, there({1}));
    instance.run(Phase::forward, {});
    instance.unbind();
  }
  CHECK(seen == Values{2, 2, 3, 5, 5, 6, 8, 8, 9});
  CHECK(tape().captures == 2);
  CHECK(tape().runs == 4);
}

TEST_CASE("what a capture cannot take runs step by step once; then it is an error that names the kernel") {
  ProgramBuilder builder;
  builder.device = tape_device();
  builder.program.name = "Net";
  const View x = builder.input({1});
  const View y = builder.result({1});
  builder.add<Picky>({operand_of(Kind::in, x), operand_of(Kind::out, y)});
  const Plan plan(builder.program);
  Instance instance(plan);
  const auto call = [&](float number) {
    instance.begin();
    instance.bind(x, there({number}));
    instance.run(Phase::forward, {});
    CHECK(instance.array_of(y).item<float>() == number);
    instance.unbind();
  };
  struct Restore {
    ~Restore() {
      is_new = is_spoiling = false;
      tape().fails_at_end = false;
    }
  } const restore;
  call(1);
  reset_counts();
  SUBCASE("a kernel that has something to prepare once more, as in another thread") {
    is_new = true;
    call(2);
    CHECK_FALSE(tape().is_recording());
    is_new = false;
    call(3);
    call(4);
    CHECK(tape().captures == 2);
    CHECK(tape().runs == 2);
  }
  SUBCASE("several threads one after another, each of which has something to prepare") {
    is_new = true;
    call(2);
    std::thread([&] { CHECK_NOTHROW(call(3)); }).join();
    std::thread([&] { CHECK_NOTHROW(call(4)); }).join();
    is_new = false;
    call(5);
    CHECK(tape().captures == 4);
    CHECK(tape().runs == 1);
  }
  SUBCASE("a kernel that never can") {
    is_new = true;
    call(2);
    CHECK_THROWS_WITH_AS(call(3), "static graph 'Net', kernel 'test_graphs_picky': picky: loads code", StateError);
    CHECK_FALSE(tape().is_recording());
    is_new = false;
    instance.unbind();
    call(4);
    CHECK(tape().runs == 1);
  }
  SUBCASE("a kernel that spoils the capture") {
    is_spoiling = true;
    call(2);
    CHECK_THROWS_WITH_AS(call(3), "static graph 'Net', kernel 'test_graphs_picky': picky: spoiled", DeviceError);
    CHECK_FALSE(tape().is_recording());
  }
  SUBCASE("a capture that turns out to be spoiled") {
    tape().fails_at_end = true;
    call(2);
    CHECK_THROWS_WITH_AS(call(3), "static graph 'Net', end of a capture: tape: spoiled", DeviceError);
    CHECK_FALSE(tape().is_recording());
  }
  CHECK(tape().live <= 1);
}

TEST_CASE("after a capture was refused, random numbers go on where they stood") {
  ProgramBuilder builder;
  builder.device = tape_device();
  builder.program.forward_random = 10;
  const View x = builder.input({1});
  const View y = builder.result({1}), drawn = builder.result({2});
  Operand state = params_of(RandomState{.seed = 99, .offset = 3});
  state.kind = Kind::random_state;
  builder.add<Draw>({state, operand_of(Kind::out, drawn)});
  builder.add<Picky>({operand_of(Kind::in, x), operand_of(Kind::out, y)});
  const Plan plan(builder.program);
  Instance instance(plan);
  for (uint64_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    is_new = i == 1;
    instance.begin();
    instance.bind(x, there({1}));
    instance.run(Phase::forward, {.seed = 5, .offset = 10 * i});
    CHECK(instance.array_of(drawn).to_vector<float>() == Values{5, static_cast<float>(10 * i + 3)});
    instance.unbind();
  }
}

TEST_CASE("a profiler sees the phases of a graph by name") {
  struct Sink final : profiler::RangeSink {
    void push(const char* text) noexcept override { texts.emplace_back(text); }
    void pop() noexcept override { ++popped; }
    std::vector<std::string> texts;
    size_t popped = 0;
  } sink;
  const Sum sum;
  const Plan plan(sum.builder.program);
  Instance instance(plan);
  const Array w = there({0, 0});
  for (int i = 0; i < 2; ++i) sum.call(instance, there({1, 2}), w);
  profiler::RangeSink* const before = profiler::set_range_sink(&sink);
  sum.call(instance, there({1, 2}), w);
  profiler::set_range_sink(before);
  CHECK(std::find(sink.texts.begin(), sink.texts.end(), "graph 'Sum' forward") != sink.texts.end());
  CHECK(sink.popped == sink.texts.size());
}

TEST_CASE("arguments of graphs: repeated elements, views, those that kernels change") {
  ProgramBuilder builder;
  builder.device = tape_device();
  const View x = [&] {
    View row = builder.input({3});
    row.shape = {2, 3};
    row.strides = {0, 1};
    return row;
  }();
  const View changed = builder.input({2, 3});
  const View y = builder.result({2, 3});
  builder.add<kernels::Copy>({operand_of(Kind::in, x), operand_of(Kind::out, y)});
  builder.pointwise_to(changed, kernels::Add{}, changed, y);
  const Plan plan(builder.program);
  Instance instance(plan);
  for (const float first : {1.0f, 10.0f, 100.0f}) {
    const Array row = there({first, 2, 3}).broadcast_to({2, 3});
    const Array counts = array<float>({0, 1, 2, 3, 4, 5}, {2, 3}, tape_device());
    instance.begin();
    instance.bind(x, row);
    instance.bind(changed, counts);
    instance.run(Phase::forward, {});
    const Array result = instance.array_of(y), argument = instance.array_of(x);
    instance.unbind();
    CHECK(result.to_vector<float>() == Values{first, 2, 3, first, 2, 3});
    CHECK(counts.to_vector<float>() == Values{first, 3, 5, 3 + first, 6, 8});
    CHECK(argument.raw_data() == row.raw_data());
  }
}

TEST_CASE("graphs follow scratch that grows") {
  const auto make = [](int64_t n) {
    ProgramBuilder builder;
    builder.device = tape_device();
    const View x = builder.input({n});
    const View y = builder.result({n});
    const View a = builder.pointwise(kernels::Add{}, x, x);
    builder.pointwise_to(y, kernels::Add{}, a, a);
    return std::pair(builder.program, std::pair(x, y));
  };
  const auto [small, small_views] = make(2);
  const auto [large, large_views] = make(5000);
  const Plan small_plan(small), large_plan(large);
  const auto scratch = std::make_shared<Scratch>();
  Instance first(small_plan, scratch), second(large_plan, scratch);
  const auto call = [](Instance& instance, const std::pair<View, View>& views, float number) {
    const auto n = static_cast<size_t>(views.first.shape[0]);
    instance.begin();
    instance.bind(views.first, there(Values(n, number)));
    instance.run(Phase::forward, {});
    CHECK(instance.array_of(views.second).to_vector<float>() == Values(n, 4 * number));
    instance.unbind();
  };
  for (const float number : {1.0f, 2.0f, 3.0f}) call(first, small_views, number);
  for (const float number : {1.0f, 2.0f, 3.0f}) call(second, large_views, number);
  for (const float number : {1.0f, 2.0f, 3.0f}) call(first, small_views, number);
}

}  // namespace
}  // namespace kusari::graphs
