#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/batch_layout.h"
#include "kusari/iterators/batch_loader.h"
#include "kusari/iterators/on_failure.h"

namespace kusari::iterators {

struct ThreadLoaderOptions {
  const char* iterator;                ///< for errors
  int64_t n_threads = 1;               ///< at least 1
  std::optional<double> timeout = 30;  ///< seconds for one example; none: for ever
  OnFailure on_failure = OnFailure::raise;
  int64_t max_retries = 3;
};

/// Loads batches with threads of its own, which begin with the first batch. Each takes a few examples at a time from
/// the oldest batch that has any left, and copies them to their rows of the batch's planes. Where the planes lie, and
/// which examples go there, depends on the examples alone: until a batch was taken most of which is like its first
/// example, and where an example does not fit, examples stay the arrays that they are.
class KUSARI_API ThreadLoader final : public BatchLoader {
 public:
  ThreadLoader(datasets::DatasetRef dataset, const ThreadLoaderOptions& options);
  ~ThreadLoader() override;

  void submit(std::span<const ExampleKey> keys) override;
  bool is_ready() override;
  Batch take() override;
  void cancel() noexcept override;
  void prefer_device(const Device& device) override { device_ = device; }
  /// Waits for the examples under way, but not longer than the timeout allows them: a thread that is stuck is left
  /// behind.
  void finish() noexcept override;

 private:
  struct Job;
  struct Progress;
  struct Shared;
  struct Worker;
  class Loop;

  void start_workers(int64_t more);
  void wait_for(Job& job);
  bool replace_ended(Job& due);
  double check_workers(Job& due);
  void replace(size_t worker, const Failure& failure, Job& due);
  Batch collect(Job& job);
  void choose_layout(const Batch& batch, int64_t rows);

  ThreadLoaderOptions options_;
  Device device_;
  BatchLayout layout_;
  int64_t submitted_ = 0;  // jobs so far
  int64_t started_ = 0;    // threads so far
  std::shared_ptr<Shared> shared_;
  std::vector<Worker> workers_;
};

}  // namespace kusari::iterators
