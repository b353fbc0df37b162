#include <bit>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/image_converter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/updaters/standard_updater.h"

// Steps that a device replays as graphs against define-by-run, bit by bit.
namespace kusari::testing {
namespace {

class UpdatedNet : public Chain {
 public:
  UpdatedNet() : conv{*this, "conv", 3, 4, 3}, bn{*this, "bn", 4}, fc{*this, "fc", kInfer, 5} {}
  Variable operator()(const Variable& x) { return fc(functions::dropout(functions::relu(bn(conv(x))), 0.3)); }

  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> fc;
};

struct Setting {
  bool is_static = false;
  bool passes = true;
  int64_t prefetch = 0;
  int64_t accumulate = 1;
  bool copy_outputs = false;
  bool changes_thread = false;
};

struct UpdaterResult {
  std::vector<std::vector<uint64_t>> bits;  // after each step
  int64_t replays = 0;
  int64_t skipped = 0;
};

UpdaterResult train_updater(const Device& device, const Setting& setting) {
  random::seed(5);
  const auto deterministic = using_config(&Config::cudnn_deterministic, true);
  L::Classifier<UpdatedNet> model{UpdatedNet()};
  optimizers::Adam optimizer({.alpha = 0.01});
  optimizer.setup(model);
  constexpr int64_t kImages = 22;
  std::vector<int32_t> labels;
  for (int i = 0; i < kImages; ++i) labels.push_back(i * 7 % 5);
  iterators::SerialIterator iterator(
      datasets::TupleDataset(uniform_array({kImages, 3, 8, 8}, 0, 255, Dtype::uint8), array(labels)), 4,
      {.repeat = true});
  StaticGraphOptions options{.copy_outputs = setting.copy_outputs};
  if (!setting.passes) options.passes = StaticGraphPasses::none();
  updaters::StandardUpdater updater(
      iterator, optimizer,
      {.converter = datasets::image_converter({.deviation = {255}, .random_flip = true}),
       .device = device,
       // Overflows at the beginning, and whenever it has grown.
       .loss_scaling = LossScalingOptions{.interval = 2,
                                          .growth = LossScaleGrowth::stepwise,
                                          .initial_scale = 0x1p28,
                                          .growth_factor = 0x1p12,
                                          .backoff_factor = 0x1p-6},
       .prefetch = setting.prefetch,
       .accumulate = setting.accumulate,
       .static_graph = setting.is_static ? updaters::StaticGraphOption(options) : updaters::StaticGraphOption()});
  UpdaterResult result;
  double scale = optimizer.loss_scale();
  for (int step = 0; step < 20; ++step) {
    optimizer.alpha = 0.01 / (1 + step / 3);
    if (setting.changes_thread && step % 5 == 4) {
      const DtypePolicy dtype = config().dtype.get();
      std::thread([&] {
        const auto policy = using_config(&Config::dtype, dtype);
        const auto in_thread = using_config(&Config::cudnn_deterministic, true);
        updater.update();
      }).join();
    } else {
      updater.update();
    }
    std::vector<uint64_t>& bits = result.bits.emplace_back();
    const auto add = [&](const Array& a) {
      for (const double v : a.to_vector<double>()) bits.push_back(std::bit_cast<uint64_t>(v));
    };
    for (Parameter* parameter : model.params()) add(parameter->array());
    add(model.predictor.bn.avg_mean);
    add(model.predictor.bn.avg_var);
    add(model.loss.array());
    bits.push_back(std::bit_cast<uint64_t>(optimizer.loss_scale()));
    bits.push_back(static_cast<uint64_t>(optimizer.t()));
    result.skipped += optimizer.loss_scale() < scale ? 1 : 0;
    scale = optimizer.loss_scale();
  }
  if (setting.is_static) result.replays = updater.static_step()->replays();
  return result;
}

void check_bits(const UpdaterResult& got, const UpdaterResult& expected) {
  REQUIRE(got.bits.size() == expected.bits.size());
  for (size_t step = 0; step < expected.bits.size(); ++step) {
    CAPTURE(step);
    REQUIRE(got.bits[step] == expected.bits[step]);
  }
}

TEST_CASE("steps as graphs of a device: mixed precision, overflows, schedules and random numbers keep their bits") {
  const auto device = gpu_device();
  if (!device) return;
  for (const DtypePolicy policy : {DtypePolicy(mixed16), DtypePolicy(Dtype::float32)}) {
    const auto guard = using_config(&Config::dtype, policy);
    const UpdaterResult expected = train_updater(*device, {});
    CHECK(expected.skipped >= (policy == DtypePolicy(mixed16) ? 3 : 0));
    for (const bool passes : {false, true}) {
      for (const int64_t prefetch : {0, 2}) {
        CAPTURE(passes);
        CAPTURE(prefetch);
        const UpdaterResult replayed =
            train_updater(*device, {.is_static = true, .passes = passes, .prefetch = prefetch});
        CHECK(replayed.replays >= 18);
        check_bits(replayed, expected);
      }
    }
  }
}

TEST_CASE("steps as graphs of a device: some steps are taken by other threads") {
  const auto device = gpu_device();
  if (!device) return;
  const UpdaterResult expected = train_updater(*device, {});
  const UpdaterResult replayed = train_updater(*device, {.is_static = true, .changes_thread = true});
  CHECK(replayed.replays >= 18);
  check_bits(replayed, expected);
}

TEST_CASE("steps as graphs of a device: accumulated gradients and copied results") {
  const auto device = gpu_device();
  if (!device) return;
  const UpdaterResult expected = train_updater(*device, {.accumulate = 3});
  for (const bool copies : {false, true}) {
    CAPTURE(copies);
    check_bits(train_updater(*device, {.is_static = true, .prefetch = 1, .accumulate = 3, .copy_outputs = copies}),
               expected);
  }
}

}  // namespace
}  // namespace kusari::testing
