#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/imagenet/archs.h"
#include "kusari/examples/imagenet/ladder_data.h"
#include "kusari/examples/imagenet/ladder_steps.h"

// What is measured of one step.
struct Speed {
  double iterations_per_s = 0;  // the median of some windows
  double images_per_s = 0;
  double data_ms = 0, compute_ms = 0;  // of an iteration, as the updater counts them on the host; 0 without one
};

struct MeasureOptions {
  kusari::Device device;
  const Arch* arch;
  int64_t side;
  int64_t warm_up;     // iterations before the first window
  int64_t iterations;  // in all windows
};

inline constexpr int64_t kWindows = 5;

// The median over windows of how often `iterate` runs in a second; each window ends when the device is done.
template <class Iterate>
double iterations_per_second(const MeasureOptions& options, const Iterate& iterate) {
  std::vector<double> rates;
  const int64_t length = std::max<int64_t>(1, options.iterations / kWindows);
  for (int64_t done = 0; done < options.iterations; done += length) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < length; ++i) iterate();
    kusari::synchronize(options.device);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rates.push_back(static_cast<double>(length) / seconds.count());
  }
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

inline void apply_config(const Settings& settings) {
  using namespace kusari;
  Config& config = global_config();
  config.use_cudnn = settings.has_library_convolutions ? Use::automatic : Use::never;
  config.use_tf32 = settings.use_tf32;
  config.autotune = settings.autotune;
  config.dtype = settings.dtype;
}

// The network of a step with its optimizer; the loss of a batch is model(images, labels).
struct Training {
  Training(const Arch& arch, const kusari::Device& device) : model{arch.make()} {
    using namespace kusari;
    model.to(device);
    optimizer.setup(model);
    if (is_half(get_dtype())) optimizer.use_fp32_update();
    if (get_dtype() == Dtype::float16) optimizer.loss_scaling();
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  kusari::AnyLink model;
  kusari::optimizers::MomentumSGD optimizer{0.001, 0.9};
};

inline kusari::datasets::Converter converter_of(const Settings& settings) {
  using namespace kusari::datasets;
  if (settings.preprocessing != Preprocessing::converter) return concat_converter();
  return image_converter({.mean = kImageNet.mean, .deviation = kImageNet.deviation, .random_flip = true});
}

// Training with batches from an iterator: what a step of the ladder stands for.
inline Speed measure_training(const Settings& settings, const kusari::datasets::DatasetRef& images,
                              const MeasureOptions& options) {
  using namespace kusari;
  Training training(*options.arch, options.device);
  const auto dataset = preprocessed(images, options.side, settings.preprocessing);
  const auto iterator = make_iterator(settings.loader, settings.jobs, dataset, settings.batch_size);
  updaters::StandardUpdater updater(*iterator, training.optimizer,
                                    {.converter = converter_of(settings),
                                     .device = options.device,
                                     .prefetch = settings.prefetch,
                                     .static_graph = settings.static_graph});
  for (int64_t i = 0; i < options.warm_up; ++i) updater.update();
  synchronize(options.device);
  const updaters::StepTimes before = updater.step_times();
  const double rate = iterations_per_second(options, [&] { updater.update(); });
  const updaters::StepTimes times = updater.step_times().since(before);
  updater.finalize();
  const double ms = 1e3 / static_cast<double>(times.iterations);
  return {.iterations_per_s = rate,
          .images_per_s = rate * static_cast<double>(settings.batch_size),
          .data_ms = ms * times.data,
          .compute_ms = ms * times.compute};
}

// The same with one batch that is on the device: what a training with the quickest of all loaders would do.
inline Speed measure_network(const Settings& settings, const kusari::datasets::DatasetRef& images,
                             const MeasureOptions& options) {
  using namespace kusari;
  Training training(*options.arch, options.device);
  const auto dataset = preprocessed(images, options.side, settings.preprocessing);
  iterators::SerialIterator iterator(dataset, settings.batch_size);
  const datasets::Example batch = converter_of(settings)(iterator.next(), options.device);
  const Variable x(batch[0], false), t(batch[1], false);
  auto replayed = static_graph(training.model);
  const auto iterate = [&] {
    if (settings.static_graph) {
      training.optimizer.update(replayed, x, t);
    } else {
      training.optimizer.update(training.model, x, t);
    }
  };
  for (int64_t i = 0; i < options.warm_up; ++i) iterate();
  synchronize(options.device);
  const double rate = iterations_per_second(options, iterate);
  return {.iterations_per_s = rate, .images_per_s = rate * static_cast<double>(settings.batch_size)};
}

// The iterator without a network, for a second at least: how many batches its workers can prepare.
inline Speed measure_loader(const Settings& settings, const kusari::datasets::DatasetRef& images,
                            const MeasureOptions& options) {
  using namespace kusari;
  const auto dataset = preprocessed(images, options.side, settings.preprocessing);
  const auto iterator = make_iterator(settings.loader, settings.jobs, dataset, settings.batch_size);
  for (int64_t i = 0; i < options.warm_up; ++i) iterator->next();
  // The mean, not the median of windows: short ones would find batches that were prepared between them.
  const auto start = std::chrono::steady_clock::now();
  double batches = 0;
  std::chrono::duration<double> seconds{0};
  while (seconds.count() < 1) {
    iterator->next();
    ++batches;
    seconds = std::chrono::steady_clock::now() - start;
  }
  iterator->finalize();
  const double rate = batches / seconds.count();
  return {.iterations_per_s = rate, .images_per_s = rate * static_cast<double>(settings.batch_size)};
}
