#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/batch_loader.h"
#include "kusari/iterators/batch_progress.h"
#include "kusari/iterators/block_ring.h"
#include "kusari/iterators/on_failure.h"
#include "kusari/iterators/worker_crew.h"

namespace kusari::iterators {

/// Loads batches with worker processes. This side has no thread: whatever workers report is taken up when the consumer
/// calls.
class ProcessLoader final : public BatchLoader {
 public:
  struct Options {
    const char* iterator;  // its class, for errors; outlives the loader
    int64_t batch_size;
    int64_t n_processes;
    int64_t n_prefetch;
    std::optional<int64_t> shared_mem;        // bytes of an example
    std::optional<double> timeout;            // seconds for one example
    std::optional<int64_t> maxtasksperchild;  // examples
    OnFailure on_failure;
    int64_t max_retries;
  };

  ProcessLoader(datasets::DatasetRef dataset, const Options& options);
  ~ProcessLoader() override;

  void submit(std::span<const ExampleKey> keys) override;
  bool is_ready() override;
  Batch take() override;
  void cancel() noexcept override;
  void prefer_device(const Device& device) override { device_ = device; }
  void finish() noexcept override;

 private:
  // What holds a place of the board.
  struct Tenant {
    BatchProgress* load = nullptr;    // null: nothing, or a batch that was abandoned
    IntrusivePtr<SharedBlock> block;  // of an abandoned batch, while workers may still write there
    bool is_abandoned = false;
  };
  // What is known of a worker while the consumer waits.
  struct Watched {
    uint32_t progress = 0;
    double seconds = 0;  // that the consumer waited since `progress` was seen first
    bool is_ending = false;
    bool is_absent = false;  // could not be started, or could not be bidden to
  };

  void check_process() const;
  void start_crew();
  void start_absent_workers();
  void start_worker(size_t i);
  void drop_crew() noexcept;
  void lose_crew(const std::string& reason);

  void advance();
  void advance_without_throwing() noexcept;
  bool receive_reports();
  void handle(Report& report);
  void take_example(BatchProgress& load, const Report& report);
  void handle_exit(const Report& report);
  void handle_failure(BatchProgress& load, int64_t row, Failure failure);
  void finish_chunks(const std::vector<WorkBoard::Claim>& done);
  void release_places();
  void abandon_place(BatchProgress& load) noexcept;

  void post();
  bool move_in(BatchProgress& load);
  void choose_target(BatchProgress& load);
  void measure(const datasets::Example& example);
  void adapt_to(const BatchProgress& load) noexcept;

  void wait_for(const BatchProgress& load, uint32_t seen);
  void watch_workers(double seconds);

  Options options_;
  WorkerSetting setting_;
  WorkBoard::Size size_;
  Device device_;
  std::unique_ptr<WorkerCrew> crew_;  // null: lost, or ended
  std::unique_ptr<BlockRing> ring_;
  std::vector<Tenant> tenants_;   // per place
  std::vector<Watched> watched_;  // per worker
  std::vector<WorkBoard::Claim> done_;
  std::deque<std::unique_ptr<BatchProgress>> loads_;
  std::exception_ptr trouble_;  // that is no example's, for the next take() that has to wait
  double unseen_ = 0;           // seconds of waiting since the mother was looked after

  bool is_measured_ = false;
  BatchLayout layout_;         // of examples like the first one
  int64_t room_ = 0;           // bytes of a slot, if examples differ
  int64_t largest_alone_ = 0;  // bytes
  int64_t idle_deaths_ = 0;    // of workers that had no example, since one was loaded
  int64_t crews_lost_ = 0;     // likewise
};

}  // namespace kusari::iterators
