#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kusari/iterators/block_ring.h"
#include "kusari/iterators/epoch_state.h"
#include "kusari/iterators/iterator.h"
#include "kusari/iterators/on_failure.h"
#include "kusari/iterators/work_board.h"

namespace kusari::iterators {

/// A batch that processes load: what became of each of its rows.
class BatchProgress {
 public:
  explicit BatchProgress(std::span<const ExampleKey> keys);

  std::span<const ExampleKey> keys() const noexcept { return keys_; }
  bool is_complete() const noexcept { return unfinished_ == 0; }
  bool has_failed() const noexcept { return !failures_.empty(); }

  /// Up to `most` rows side by side that are still to be loaded, for a chunk: they are with the workers from now on.
  /// None if there are none.
  struct Range {
    int64_t first, count;
  };
  std::optional<Range> post(int64_t most);
  /// Whether a row is with the workers, and nothing is known of it.
  bool is_expected(int64_t row) const noexcept;
  bool is_any_posted() const noexcept;

  // What workers report of rows that are expected, before the chunk is over:
  void finish_alone(int64_t row, datasets::Example example);
  void fail(int64_t row, Failure failure);
  void leave_out(int64_t row);
  void try_again(int64_t row);
  /// How often a row failed so far, this time included.
  int64_t count_failure(int64_t row) { return ++times_failed_[row]; }

  /// These rows of a chunk are over: what is expected lies in the block.
  void finish(int64_t first, int64_t count);
  /// These rows of a chunk come back from the workers: what is expected is still to be loaded.
  void withdraw(int64_t first, int64_t count);

  /// The first row that failed and why; failed rows are to be tried again.
  std::pair<int64_t, Failure> take_failure();
  /// Forgets what lies in the block, and the block.
  void start_again();

  /// Where rows go from now on. Examples that came alone and fit go there too.
  void set_target(const WorkBoard::Target& target, IntrusivePtr<SharedBlock> block);
  bool has_target() const noexcept { return has_target_; }
  const WorkBoard::Target& target() const noexcept { return target_; }
  const IntrusivePtr<SharedBlock>& block() const noexcept { return block_; }
  int64_t examples_alone() const noexcept { return static_cast<int64_t>(alone_.size()); }

  /// The examples, where the workers wrote them. Once, when the batch is complete and nothing failed.
  Batch assemble();

  int place = -1;  // on the board; -1: none

 private:
  enum class State : uint8_t {
    wanted,
    again,  // failed with the workers that have it: wanted as soon as they have not
    placed,
    alone,
    failed,
    left_out,
  };
  struct Row {
    State state = State::wanted;
    bool is_posted = false;  // in a chunk that is not over
  };

  Row& row_at(int64_t row) noexcept { return rows_[static_cast<size_t>(row)]; }
  void settle(int64_t row, State state) noexcept;
  void take_back(int64_t row) noexcept;

  std::vector<ExampleKey> keys_;
  std::vector<Row> rows_;
  int64_t unfinished_;  // wanted, perhaps again
  int64_t next_ = 0;    // no row before is to be posted
  bool has_target_ = false;
  WorkBoard::Target target_;
  IntrusivePtr<SharedBlock> block_;
  std::map<int64_t, datasets::Example> alone_;
  std::map<int64_t, Failure> failures_;
  std::map<int64_t, int64_t> times_failed_;
};

}  // namespace kusari::iterators
