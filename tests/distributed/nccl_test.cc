#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/kernels/device_group.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/distributed/small_models.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/skip.h"
#include "kusari/updaters/static_step.h"

// Ranks that each have a GPU, which exchange arrays by NCCL: on emulated devices, or on cards.
namespace kusari::nccl_test {
namespace {

using namespace testing;

using distributed::Communicator;
using distributed::create_multi_node_optimizer;

constexpr int kRanks = 2;

#define KUSARI_NEEDS_DEVICES()                                                                   \
  do {                                                                                           \
    try {                                                                                        \
      get_device("cuda:1");                                                                      \
    } catch (const DeviceError&) {                                                               \
      KUSARI_SKIP("needs two CUDA devices; the emulated ones do");                               \
    }                                                                                            \
    if (get_device("cuda:0").backend().find(kernel_id<kernels::MakeDeviceGroup>()) == nullptr) { \
      KUSARI_SKIP("needs NCCL");                                                                 \
    }                                                                                            \
  } while (false)

/// f(communicator, the rank's device) on each rank.
void on_devices(const std::string& name, const std::function<void(const Communicator&, const Device&)>& f) {
  distributed::run_ranks(kRanks, [&](Communicator& world) {
    f(Communicator(world.shared_group(), name), get_device("cuda:" + std::to_string(world.rank())));
  });
}

Array numbers_of(int rank, Shape shape, Dtype dtype, const Device& device) {
  std::vector<double> values;
  for (int64_t i = 0; i < numel(shape); ++i)
    values.push_back(static_cast<double>((i * 5 + rank * 3) % 11) - (dtype == Dtype::uint8 ? 0 : 4));
  return array<double>(values, shape).astype(dtype).to_device(device);
}

TEST_CASE("nccl: operations of a device group, in each dtype") {
  KUSARI_NEEDS_DEVICES();
  on_devices("pure_nccl", [](const Communicator& comm, const Device& device) {
    DeviceGroup* const group = comm.shared_device_groups()->of(device);
    REQUIRE(group != nullptr);
    CHECK(group == comm.shared_device_groups()->of(device));
    CHECK(group->device() == device);
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64, Dtype::int32,
                              Dtype::int64, Dtype::int8, Dtype::uint8}) {
      CAPTURE(name(dtype));
      CHECK(DeviceGroup::has_dtype(dtype));
      const auto own = [&](int rank) { return numbers_of(rank, {kRanks, 3}, dtype, device); };
      std::vector<double> sum = own(0).to_vector<double>();
      const std::vector<double> second = own(1).to_vector<double>();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += second[i];

      const Array all = own(comm.rank());
      group->all_reduce(all);
      CHECK(all.to_vector<double>() == sum);

      const Array at_root = own(comm.rank());
      group->reduce(at_root, 1);
      CHECK(at_root.to_vector<double>() == (comm.rank() == 1 ? sum : own(0).to_vector<double>()));

      const Array part = empty({3}, dtype, device);
      group->reduce_scatter(own(comm.rank()), part);
      const auto begin = sum.begin() + 3 * comm.rank();
      CHECK(part.to_vector<double>() == std::vector<double>(begin, begin + 3));

      const Array gathered = empty({kRanks, kRanks, 3}, dtype, device);
      group->all_gather(own(comm.rank()), gathered);
      CHECK(gathered.at(1).to_vector<double>() == second);

      const Array shared = own(comm.rank());
      group->broadcast(shared, 1);
      CHECK(shared.to_vector<double>() == second);

      const Array received[] = {empty({kRanks, 3}, dtype, device), empty({kRanks, 3}, dtype, device)};
      const Array sent[] = {own(10 * comm.rank()), own(10 * comm.rank() + 1)};
      group->exchange(sent, received);
      for (int r = 0; r < kRanks; ++r) {
        CHECK(received[r].to_vector<double>() == own(10 * r + comm.rank()).to_vector<double>());
      }
    }
    CHECK(!DeviceGroup::has_dtype(Dtype::bool_));
  });
}

TEST_CASE("nccl: a group of one rank, which one card has") {
  Device device;
  try {
    device = get_device("cuda:0");
  } catch (const DeviceError&) {
    KUSARI_SKIP("needs a CUDA device; the emulated ones do");
  }
  if (device.backend().find(kernel_id<kernels::MakeDeviceGroup>()) == nullptr) KUSARI_SKIP("needs NCCL");
  kernels::DeviceGroupId id{};
  launch<kernels::NewDeviceGroupId>(device, &id);
  std::unique_ptr<DeviceGroup> group;
  launch<kernels::MakeDeviceGroup>(device, kernels::DeviceGroupRequest{&device, &id, 0, 1, &group});
  REQUIRE(group != nullptr);
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64, Dtype::int32, Dtype::int64,
                            Dtype::int8, Dtype::uint8}) {
    CAPTURE(name(dtype));
    const Array own = numbers_of(1, {2, 3}, dtype, device);
    const std::vector<double> expected = own.to_vector<double>();
    const Array summed = own.copy(), reduced = own.copy(), shared = own.copy();
    group->all_reduce(summed);
    group->reduce(reduced, 0);
    group->broadcast(shared, 0);
    const Array part = empty({2, 3}, dtype, device), gathered = empty({1, 2, 3}, dtype, device);
    group->reduce_scatter(own, part);
    group->all_gather(own, gathered);
    const Array sent[] = {own}, received[] = {empty({2, 3}, dtype, device)};
    group->exchange(sent, received);
    for (const Array& result : {summed, reduced, shared, part, gathered, received[0]}) {
      CHECK(result.to_vector<double>() == expected);
    }
  }
}

TEST_CASE("nccl: the communicator's methods give what they give through the host") {
  KUSARI_NEEDS_DEVICES();
  const auto results = [](const std::string& name) {
    std::vector<std::vector<double>> all(kRanks);
    on_devices(name, [&](const Communicator& comm, const Device& device) {
      std::vector<double>& mine = all[static_cast<size_t>(comm.rank())];
      const auto own = [&](int number) {
        return numbers_of(comm.rank() + 2 * number, {3, 1 + number}, Dtype::float32, device);
      };
      const auto add = [&](const Array& x) {
        CHECK(x.device() == device);
        const std::vector<double> values = x.to_vector<double>();
        mine.insert(mine.end(), values.begin(), values.end());
      };
      add(comm.allreduce(own(1)));
      if (name == "pure_nccl") CHECK(comm.shared_device_groups()->made() != nullptr);
      add(comm.multi_node_mean(own(1)));
      if (const Array sum = comm.reduce(own(2), 1); sum.is_defined()) add(sum);
      add(comm.bcast(own(0), 1));
      for (const Array& x : comm.gather(numbers_of(1, {comm.rank() + 1}, Dtype::float16, device), 1)) add(x);
      for (const Array& x : comm.allgather(numbers_of(1, {comm.rank() + 2}, Dtype::bfloat16, device))) add(x);
      const Array parts[] = {own(1), own(comm.rank())};
      for (const int root : {0, 1}) {
        add(comm.scatter(comm.rank() == root ? std::span<const Array>(parts) : std::span<const Array>(&parts[0], 1),
                         root));
      }
      for (const Array& x : comm.alltoall(parts)) add(x);
      const Array alike[] = {own(1), own(1)};
      add(comm.reduce_scatter(alike));
      // One that is on the host, among others that are not.
      CHECK(comm.allgather(array<float>({1, 2}))[1].to_vector<float>() == std::vector<float>{1, 2});
    });
    return all;
  };
  CHECK(results("pure_nccl") == results("naive"));
}

struct Training {
  std::string communicator;
  bool on_device;
  bool is_static = false;
  bool overlap = false;
  std::optional<Dtype> wire = std::nullopt;
  int forgets_at = -1;  // the step before which rank 1 forgets what is recorded
};

struct Outcome {
  std::vector<double> values;
  int64_t replays = 0;
};
constexpr int kSteps = 12;

/// Parameters of each rank after some steps.
std::vector<Outcome> train(const Training& training) {
  random::seed(17);
  return on_ranks<Outcome>(kRanks, [&](Communicator& world) {
    const Communicator comm(world.shared_group(), training.communicator, {.allreduce_grad_dtype = training.wire});
    const auto in_full = using_config(&Config::use_tf32, false);  // as the processor computes
    const Device device = training.on_device ? get_device("cuda:" + std::to_string(comm.rank())) : Device();
    auto model = links::classifier(TestMlp());
    model.to(device);
    auto optimizer = create_multi_node_optimizer(optimizers::MomentumSGD(0.1), comm,
                                                 {.bucket_bytes = 512, .overlap = training.overlap});
    optimizer.setup(model);
    updaters::StaticStep step(
        StaticGraphOptions{.name = "step"},
        [](Optimizer& of, std::span<const Variable> inputs) { return of.call_target(inputs); }, false);
    for (int number = 0; number < kSteps; ++number) {
      if (number == training.forgets_at && comm.rank() == 1) step.clear();
      const TestBatch batch = test_batch(8, {6}, number).part(comm.rank(), comm.size());
      const Variable inputs[] = {Variable(batch.x.to_device(device), false),
                                 Variable(batch.t.to_device(device), false)};
      detail::OptimizerAccess::note_examples(optimizer, batch.x.shape(0));
      if (training.is_static) {
        step.update(optimizer, inputs);
      } else {
        optimizer.update([&] { return optimizer.call_target(inputs); });
      }
    }
    if (training.on_device && training.communicator != "naive") CHECK(comm.shared_device_groups()->made() != nullptr);
    return Outcome{values_of(model), step.replays()};
  });
}

TEST_CASE("nccl: two ranks with devices take the steps of two on the CPU") {
  KUSARI_NEEDS_DEVICES();
  const std::vector<double> on_cpu = train({"naive", false})[0].values;
  const std::vector<double> through_host = train({"naive", true})[0].values;
  CHECK(difference(on_cpu, through_host) < 1e-5);
  for (const Training& training : {Training{"pure_nccl", true}, Training{"auto", true},
                                   Training{.communicator = "auto", .on_device = true, .overlap = true}}) {
    CAPTURE(training.communicator);
    CAPTURE(training.overlap);
    for (const Outcome& outcome : train(training)) CHECK(outcome.values == through_host);
  }
  for (const Dtype wire : {Dtype::float16, Dtype::bfloat16}) {
    const std::vector<Outcome> outcomes = train({.communicator = "pure_nccl", .on_device = true, .wire = wire});
    CHECK(outcomes[0].values == outcomes[1].values);
    CHECK(difference(on_cpu, outcomes[0].values) < (wire == Dtype::float16 ? 1e-3 : 1e-2));
  }
}

TEST_CASE("nccl: exchanges in the graphs of the devices") {
  KUSARI_NEEDS_DEVICES();
  const std::vector<double> plain = train({"pure_nccl", true})[0].values;
  for (const bool overlap : {false, true}) {
    for (const char* const name : {"pure_nccl", "naive"}) {
      CAPTURE(name);
      for (const Outcome& outcome : train({name, true, true, overlap})) {
        CHECK(outcome.values == plain);
        CHECK(outcome.replays >= kSteps - 4);
      }
    }
  }
  // A rank whose device has a graph does not launch it while the other's has none.
  const std::vector<Outcome> outcomes =
      train({.communicator = "pure_nccl", .on_device = true, .is_static = true, .forgets_at = 7});
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.values == plain);
    CHECK(outcome.replays >= 3);
    CHECK(outcome.replays < kSteps - 4);
  }
}

TEST_CASE("nccl: what cannot be") {
  KUSARI_NEEDS_DEVICES();
  const QuietLog quiet;
  distributed::run_ranks(kRanks, [](Communicator& world) {
    const Device device = get_device("cuda:0");
    const Communicator comm(world.shared_group(), "pure_nccl");
    for (int i = 0; i < 2; ++i) {
      CHECK_THROWS_AS(comm.allreduce(ones({2}).to_device(device)), DeviceError);  // two ranks of one device
    }
    const Communicator any(world.shared_group(), "auto");
    CHECK(any.allreduce(ones({2}).to_device(device)).to_vector<float>() == std::vector<float>{2, 2});
  });
}

}  // namespace
}  // namespace kusari::nccl_test
