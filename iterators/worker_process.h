#pragma once

#include <optional>

#include "kusari/framework/core/config.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/message_channel.h"
#include "kusari/iterators/shared_memory.h"
#include "kusari/iterators/work_board.h"

namespace kusari::iterators {

/// What the processes of one iterator share from their fork on.
struct WorkerSetting {
  datasets::DatasetRef dataset;
  std::optional<int64_t> max_examples;  // after about so many a worker makes room for a fresh one
  ConfigSnapshot config;
};

/// The mother process: forks the workers and their replacements as the consumer bids, reports their ends, and kills
/// them when the consumer ends or hangs up. She is small and single-threaded, so that forking is cheap and safe at any
/// time. `consumer` is the process that forked her.
[[noreturn]] void run_mother(int consumer, WorkBoard& board, Channel& channel, const FileDescriptor& blocks,
                             const WorkerSetting& setting) noexcept;

/// A worker process: loads the chunks that it claims from the board.
[[noreturn]] void run_worker(int worker, WorkBoard& board, const FileDescriptor& end, const FileDescriptor& blocks,
                             const WorkerSetting& setting) noexcept;

/// An example by itself in memory: its layout, then its planes.
struct PackedExample {
  static constexpr int64_t kHeadBytes = (static_cast<int64_t>(sizeof(BatchLayout)) + BatchLayout::kAlignment - 1) /
                                        BatchLayout::kAlignment * BatchLayout::kAlignment;

  static int64_t bytes(const BatchLayout& layout) noexcept { return kHeadBytes + layout.bytes(); }
  static void write(const BatchLayout& layout, const datasets::Example& example, char* memory);
  static const BatchLayout& layout(const char* memory) noexcept {
    return *reinterpret_cast<const BatchLayout*>(memory);
  }
  static char* planes(char* memory) noexcept { return memory + kHeadBytes; }
};

}  // namespace kusari::iterators
