#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/dlpack.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/permutate.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "testing.h"

namespace kusari {
namespace {

using testing::check_same;
using testing::gpu_device;
using testing::kDtypes;
using testing::on_device;
using testing::uniform_array;

const Shape kArrayShapes[] = {{}, {1}, {7}, {2, 3}, {0}, {3, 0, 2}, {2, 3, 4, 5}, {1, 130, 1, 7}};

TEST_CASE("device arrays: every way to make one") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    CAPTURE(name(dtype));
    for (const Shape& shape : kArrayShapes) {
      CAPTURE(shape);
      check_same(zeros(shape, dtype, *device), zeros(shape, dtype));
      check_same(full(shape, 3, dtype, *device), full(shape, 3, dtype));
      const Array x = uniform_array(shape, -5, 5, dtype);
      check_same(from_host(x.raw_data(), shape, dtype, *device), x);
      const Array y = x.to_device(*device);
      CHECK(y.device() == *device);
      CHECK(y.to_device(*device).is_same(y));
      check_same(ones_like(y), ones_like(x));
      check_same(y.copy(), x);
    }
    check_same(arange(9, dtype, *device), arange(9, dtype));
  }
  CHECK(array<float>({1, 2, 3, 4}, {2, 2}, *device).to_vector<int>() == std::vector<int>{1, 2, 3, 4});
  CHECK(array<bool>({true, false}, *device).to_vector<bool>() == std::vector<bool>{true, false});
}

TEST_CASE("device arrays: move in any layout, both ways") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Shape& shape : kArrayShapes) {
    const Array x = uniform_array(shape, -5, 5);
    for (const testing::Layout layout : testing::kLayouts) {
      const Array host = in_layout(x, layout);
      const Array there = host.to_device(*device);
      check_same(there, host);
      if (host.is_dense()) CHECK(there.strides() == host.strides());
      const Array moved = on_device(host, *device);
      check_same(moved, host);
      CHECK(moved.to_device(Device()).device().is_cpu());
      check_same(moved.contiguous(), host);
      check_same(moved.channels_last(), host);
      check_same(moved.astype(Dtype::int32), host.astype(Dtype::int32));
    }
  }
}

TEST_CASE("device arrays: copy_from converts, broadcasts and crosses devices") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({2, 3, 4}, -50, 50);
  const auto check_copy = [&](const Array& to, const Array& from) {
    to.copy_from(from);
    check_same(to, from.to_device(Device()).astype(to.dtype()).broadcast_to(to.shape()));
  };
  const Array there = x.to_device(*device);
  check_copy(empty({2, 3, 4}, Dtype::float32, *device), x);
  check_copy(empty({2, 3, 4}, Dtype::int32, *device), x);
  check_copy(empty({2, 3, 4}), there);
  check_copy(empty({2, 3, 4}, Dtype::float64), there);
  check_copy(empty({5, 2, 3, 4}, Dtype::float32, *device), x);
  check_copy(empty({5, 2, 3, 4}), there);
  check_copy(empty({2, 3, 4}, Dtype::float32, *device).transpose({1, 0, 2}), x.transpose({1, 0, 2}));
  check_copy(zeros({2, 3, 8}, Dtype::float32, *device).slice(2, 0, 4, 2), x);
  check_copy(empty({2, 0}, Dtype::float32, *device), empty({2, 0}));
  // What was derived from the old elements is stale.
  const uint64_t generation = there.storage().generation;
  there.copy_from(x);
  CHECK(there.storage().generation != generation);
}

TEST_CASE("device arrays: reading on the host") {
  const auto device = gpu_device();
  if (!device) return;
  CHECK(full({}, 2.5, Dtype::float32, *device).item<double>() == 2.5);
  CHECK(full({1, 1}, 7, Dtype::int64, *device).item<int>() == 7);
  CHECK(arange(6, Dtype::float16, *device).at(-1).item<float>() == 5);
  CHECK_THROWS_AS(arange(6, Dtype::float32, *device).item<float>(), ValueError);
  CHECK(arange(6, Dtype::float32, *device).slice(0, 5, 3, -2).to_vector<int>() == std::vector<int>{5, 3, 1});
  CHECK(zeros({0, 4}, Dtype::float32, *device).to_vector<float>().empty());
  for (const Shape& shape : {Shape{}, Shape{0, 2}, Shape{3, 4}, Shape{2000}, Shape{40, 50, 2}}) {
    const Array x = uniform_array(shape, -5, 5);
    CHECK(to_string(x.to_device(*device)) == to_string(x));
    std::ostringstream stream;
    stream << x.to_device(*device);
    CHECK(stream.str() == to_string(x));
  }
}

TEST_CASE("device arrays: DLPack") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({3, 4}, -5, 5).to_device(*device);
  dlpack::ManagedTensor* const tensor = to_dlpack(x.transpose());
  CHECK(tensor->dl_tensor.device.device_type == dlpack::kCuda);
  CHECK(tensor->dl_tensor.device.device_id == 0);
  CHECK(tensor->dl_tensor.data == x.raw_data());
  {
    const Array back = from_dlpack(tensor);
    CHECK(back.device() == *device);
    CHECK(back.raw_data() == x.raw_data());
    check_same(back, x.transpose().to_device(Device()));
    back.fill(1);
  }
  CHECK(x.is_unique());
  CHECK(x.to_vector<int>() == std::vector<int>(12, 1));
  dlpack::ManagedTensorVersioned* const read_only = to_dlpack_versioned(x);
  read_only->flags |= dlpack::kReadOnly;
  const Array copied = from_dlpack(read_only);
  CHECK(copied.raw_data() != x.raw_data());
  check_same(copied, x.to_device(Device()));
}

struct Weights {
  Array W, absent;
  void serialize(Serializer& serializer) {
    serializer("W", W);
    serializer("absent", absent);
  }
};

TEST_CASE("device arrays: npz") {
  const auto device = gpu_device();
  if (!device) return;
  const testing::ScratchDirectory directory;
  const Array x = uniform_array({2, 3, 4, 5}, -5, 5);
  Weights weights{on_device(in_layout(x, testing::Layout::channels_last), *device), Array()};
  serializers::save_npz(directory / "w.npz", weights);
  // In place, on the device, in the layout that is there.
  Weights read{on_device(in_layout(zeros_like(x), testing::Layout::channels_last), *device), Array()};
  const void* const data = read.W.raw_data();
  serializers::load_npz(directory / "w.npz", read);
  CHECK(read.W.raw_data() == data);
  CHECK(read.W.device() == *device);
  check_same(read.W, x);
  CHECK_FALSE(read.absent.is_defined());
}

class MovedModel : public Chain {
 public:
  MovedModel() : l1{*this, "l1", 3, 8}, l2{*this, "l2", kInfer, 1} {}
  Variable operator()(const Variable& x) { return l2(l1(x)); }

 private:
  Child<L::Linear> l1, l2;
};

struct Trained {
  std::vector<std::vector<float>> parameters;
  Device device;
};

// Trains for 8 steps; `moves` says before which step the model goes to which device.
template <class MakeOptimizer>
Trained train_moved(MakeOptimizer make, const std::vector<std::pair<int, Device>>& moves, bool to_before_setup,
                    const Array& w1, const Array& w2) {
  MovedModel model;
  Device device;
  const auto move_to = [&](const Device& to) {
    device = to;
    model.to(to);
  };
  if (to_before_setup && !moves.empty()) move_to(moves[0].second);
  auto optimizer = make();
  optimizer.setup(model);
  const Array x = uniform_array({5, 3}, -1, 1, Dtype::float32, 5), t = uniform_array({5, 1}, -1, 1, Dtype::float32, 6);
  for (int step = 0; step < 8; ++step) {
    for (const auto& [when, to] : moves) {
      if (when == step) move_to(to);
    }
    const Variable loss_in = x.to_device(device);
    if (step == 0) {
      model(loss_in);  // the second layer learns its shape
      model.params()[0]->array().copy_from(w1);
      model.params()[2]->array().copy_from(w2);
    }
    model.cleargrads();
    functions::mean_squared_error(model(loss_in), t.to_device(device)).backward();
    optimizer.update();
  }
  Trained result{{}, device};
  for (Parameter* parameter : model.params()) {
    CHECK(parameter->array().device() == device);
    CHECK(parameter->grad().device() == device);
    result.parameters.push_back(parameter->array().to_vector<float>());
  }
  return result;
}

template <class MakeOptimizer>
void check_moves(MakeOptimizer make) {
  const Device cpu, gpu = *gpu_device();
  MovedModel shapes;
  shapes(zeros({1, 3}));
  const Array w1 = uniform_array(shapes.params()[0]->shape(), -1, 1, Dtype::float32, 7);
  const Array w2 = uniform_array(shapes.params()[2]->shape(), -1, 1, Dtype::float32, 8);
  const Trained expected = train_moved(make, {}, false, w1, w2);
  using Moves = std::vector<std::pair<int, Device>>;
  for (const Moves& moves : {Moves{{0, gpu}}, Moves{{3, gpu}}, Moves{{0, gpu}, {4, cpu}}, Moves{{2, gpu}, {5, cpu}},
                             Moves{{1, gpu}, {2, cpu}, {3, gpu}}}) {
    for (const bool before_setup : {false, true}) {
      if (before_setup && moves[0].first != 0) continue;
      const Trained got = train_moved(make, moves, before_setup, w1, w2);
      CHECK(got.device == moves.back().second);
      REQUIRE(got.parameters.size() == expected.parameters.size());
      for (size_t i = 0; i < got.parameters.size(); ++i) {
        for (size_t k = 0; k < got.parameters[i].size(); ++k) {
          CHECK(got.parameters[i][k] == doctest::Approx(expected.parameters[i][k]).epsilon(1e-4));
        }
      }
    }
  }
}

TEST_CASE("device arrays: a model and its optimizer move at any time") {
  if (!gpu_device()) return;
  check_moves([] { return optimizers::Adam({.alpha = 0.05}); });
  check_moves([] { return optimizers::MomentumSGD(0.05); });
}

TEST_CASE("device arrays: snapshots go from one device to another") {
  const auto device = gpu_device();
  if (!device) return;
  const testing::ScratchDirectory directory;
  const Array x = uniform_array({5, 3}, -1, 1), t = uniform_array({5, 1}, -1, 1, Dtype::float32, 2);
  for (const auto& [from, to] : {std::pair{Device(), *device}, std::pair{*device, Device()}}) {
    const auto step = [&](MovedModel& model, optimizers::Adam& optimizer, const Device& on) {
      model.cleargrads();
      functions::mean_squared_error(model(x.to_device(on)), t.to_device(on)).backward();
      optimizer.update();
    };
    MovedModel model, other;
    model.to(from);
    other.to(to);
    optimizers::Adam optimizer, other_optimizer;
    optimizer.setup(model);
    other_optimizer.setup(other);
    for (int i = 0; i < 3; ++i) step(model, optimizer, from);
    serializers::save_npz(directory / "model.npz", model);
    serializers::save_npz(directory / "optimizer.npz", optimizer);
    serializers::load_npz(directory / "model.npz", other);
    serializers::load_npz(directory / "optimizer.npz", other_optimizer);
    step(model, optimizer, from);
    step(other, other_optimizer, to);
    for (size_t i = 0; i < model.params().size(); ++i) {
      const Array mine = model.params()[i]->array(), its = other.params()[i]->array();
      CHECK(its.device() == to);
      check_same(its.to_device(Device()), mine.to_device(Device()), 10);
    }
  }
}

TEST_CASE("device arrays: permutate does not wait for the indices") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = array<float>({1, 2, 3}, *device), indices = array<int32_t>({2, 0, 1}, *device);
  const Array y = empty_like(x);
  const auto work = [&] { y.copy_from(functions::permutate(x, indices).array()); };
  work();  // loads the kernels
  y.fill(0);
  Backend& backend = device->backend();
  backend.begin_graph(device->index());
  try {
    work();  // reading from the device is an error now
  } catch (...) {
    backend.abandon_graph(device->index());
    throw;
  }
  void* const graph = backend.end_graph(device->index());
  backend.run_graph(device->index(), graph);
  CHECK(y.to_vector<float>() == std::vector<float>{3, 1, 2});
  backend.destroy_graph(device->index(), graph);
  // What is no permutation gives zeros there.
  const Variable none = functions::permutate(x, array<int32_t>({0, 1, 7}, *device));
  CHECK(none.to_vector<float>() == std::vector<float>{1, 2, 0});
}

}  // namespace
}  // namespace kusari
