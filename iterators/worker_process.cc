#include "kusari/iterators/worker_process.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <omp.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/example_random.h"

namespace kusari::iterators {

void PackedExample::write(const BatchLayout& layout, const datasets::Example& example, char* memory) {
  ::new (memory) BatchLayout(layout);
  layout.write(example, planes(memory), 0);
}

namespace {

using datasets::Example;

// What exit() would do from here on belongs to the process that was forked: static objects, unwritten buffers.
void leave_at_once(int status, void*) { _exit(status); }

BatchLayout layout_alone(const Example& example) {
  const BatchLayout layout = BatchLayout::of(example, 1);
  if (layout.is_defined()) return layout;
  throw TypeError("the example has " + std::to_string(example.size()) +
                  " components: a worker process delivers up to " + std::to_string(BatchLayout::kMaxComponents) +
                  " arrays, all defined and on the CPU");
}

class WorkerProcess {
 public:
  WorkerProcess(int number, WorkBoard& board, const FileDescriptor& end, const FileDescriptor& blocks,
                const WorkerSetting& setting)
      : number_{number}, mother_{getppid()}, board_{board}, end_{end}, blocks_{blocks}, setting_{setting} {}

  [[noreturn]] void run() {
    board_.worker(number_).progress.fetch_add(1);
    for (;;) {
      const uint32_t seen = board_.announcements();
      if (const auto claim = board_.claim(number_)) {
        load(*claim);
        if (setting_.max_examples && examples_ >= *setting_.max_examples) retire();
      } else {
        board_.wait_for_work(number_, seen, kLook);
        if (getppid() != mother_) _exit(1);  // in case that no signal came with her end
      }
    }
  }

 private:
  static constexpr double kLook = 0.5;  // seconds between looks for the mother
  static constexpr size_t kMaxMappings = 64;

  struct MappedBlock {
    int64_t offset;
    Mapping mapping;
  };

  void load(const WorkBoard::Claim& claim) {
    const WorkBoard::Place& place = board_.place(claim.place);
    const WorkBoard::Target& target = place.target;
    char* block = nullptr;
    std::exception_ptr no_block;
    try {
      if (target.bytes > 0) block = map_block(target.offset, target.bytes);
    } catch (const std::exception&) {
      no_block = std::current_exception();
    }
    for (uint32_t i = 0; i < claim.chunk->rows && place.is_cancelled.load(std::memory_order_relaxed) == 0; ++i) {
      const int64_t row = claim.chunk->first_row + i;
      const ExampleKey key = board_.keys(claim.place)[static_cast<size_t>(row)];
      Report report{.kind = Report::Kind::failed, .worker = number_, .place = claim.place, .row = row};
      try {
        if (no_block) std::rethrow_exception(no_block);
        const datasets::ExampleRandomScope scope(key.seed, key.epoch, key.index);
        deliver(setting_.dataset->get(key.index), target, block, report);
      } catch (const abi::__forced_unwind&) {  // the data set ended this thread
        throw;
      } catch (...) {
        report.kind = Report::Kind::failed;
        report.failure = failure_of(std::current_exception());
        send(report);
      }
      claim.chunk->rows_done.store(i + 1, std::memory_order_release);
      board_.worker(number_).progress.fetch_add(1, std::memory_order_relaxed);
      ++examples_;
    }
    board_.finish(claim);
  }

  void deliver(const Example& example, const WorkBoard::Target& target, char* block, Report& report) {
    if (target.layout.fits(example)) return target.layout.write(example, block, report.row);
    if (example.empty()) {
      report.kind = Report::Kind::empty;
      return send(report);
    }
    const BatchLayout layout = layout_alone(example);
    report.bytes = PackedExample::bytes(layout);
    if (report.bytes <= target.room) {
      return PackedExample::write(layout, example, block + report.row * target.room);
    }
    report.kind = Report::Kind::alone;
    report.bytes = whole_pages(report.bytes);
    report.memory = create_memory_file();
    reserve(report.memory, 0, report.bytes);
    PackedExample::write(layout, example, Mapping(report.memory, 0, report.bytes).data());
    send(report);
  }

  // Before the row counts as done, so that whoever sees that finds the report.
  void send(const Report& report) {
    if (!send_report(end_, report, mother_)) _exit(1);
    board_.signal();
  }

  char* map_block(int64_t offset, int64_t bytes) {
    for (const MappedBlock& mapped : mapped_) {
      if (mapped.offset == offset) return mapped.mapping.data();
    }
    if (mapped_.size() == kMaxMappings) mapped_.clear();
    mapped_.push_back({offset, Mapping(blocks_, offset, bytes)});
    return mapped_.back().mapping.data();
  }

  [[noreturn]] void retire() {
    board_.worker(number_).is_retired.store(1);
    _exit(0);
  }

  int number_;
  pid_t mother_;
  WorkBoard& board_;
  const FileDescriptor& end_;
  const FileDescriptor& blocks_;
  const WorkerSetting& setting_;
  int64_t examples_ = 0;
  std::vector<MappedBlock> mapped_;
};

}  // namespace

void run_worker(int worker, WorkBoard& board, const FileDescriptor& end, const FileDescriptor& blocks,
                const WorkerSetting& setting) noexcept {
  // A parallel region of OpenMP would wait for the threads of the process that was forked.
  omp_set_num_threads(1);
  set_num_threads(1);
  const SingleThreaded alone;
  on_exit(leave_at_once, nullptr);
  // What the consumer's process has not written yet is not ours to write.
  __fpurge(stdout);
  __fpurge(stderr);
  prctl(PR_SET_NAME, "kusari-worker");
  setting.config.install();
  WorkerProcess(worker, board, end, blocks, setting).run();
}

}  // namespace kusari::iterators
