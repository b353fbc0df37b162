#include "kusari/iterators/batch_progress.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/datasets/collated.h"
#include "kusari/iterators/worker_process.h"

namespace kusari::iterators {

using datasets::Example;

BatchProgress::BatchProgress(std::span<const ExampleKey> keys)
    : keys_(keys.begin(), keys.end()), rows_(keys.size()), unfinished_{std::ssize(keys_)} {}

std::optional<BatchProgress::Range> BatchProgress::post(int64_t most) {
  const int64_t n = std::ssize(rows_);
  const auto can_post = [&](int64_t row) {
    return row < n && row_at(row).state == State::wanted && !row_at(row).is_posted;
  };
  while (next_ < n && !can_post(next_)) ++next_;
  if (next_ == n) return std::nullopt;
  Range range{next_, 0};
  for (; range.count < most && can_post(next_); ++range.count) row_at(next_++).is_posted = true;
  return range;
}

bool BatchProgress::is_expected(int64_t row) const noexcept {
  const Row& it = rows_[static_cast<size_t>(row)];
  return it.is_posted && it.state == State::wanted;
}

bool BatchProgress::is_any_posted() const noexcept { return std::ranges::any_of(rows_, &Row::is_posted); }

void BatchProgress::settle(int64_t row, State state) noexcept {
  row_at(row).state = state;
  --unfinished_;
}

void BatchProgress::finish_alone(int64_t row, Example example) {
  alone_[row] = std::move(example);
  settle(row, State::alone);
}

void BatchProgress::fail(int64_t row, Failure failure) {
  failures_[row] = std::move(failure);
  settle(row, State::failed);
}

void BatchProgress::leave_out(int64_t row) { settle(row, State::left_out); }

void BatchProgress::try_again(int64_t row) { row_at(row).state = State::again; }

void BatchProgress::take_back(int64_t row) noexcept {
  row_at(row).is_posted = false;
  if (row_at(row).state == State::again) row_at(row).state = State::wanted;
  if (row_at(row).state == State::wanted) next_ = std::min(next_, row);
}

void BatchProgress::finish(int64_t first, int64_t count) {
  for (int64_t row = first; row < first + count; ++row) {
    if (is_expected(row)) settle(row, State::placed);
    take_back(row);
  }
}

void BatchProgress::withdraw(int64_t first, int64_t count) {
  for (int64_t row = first; row < first + count; ++row) take_back(row);
}

std::pair<int64_t, Failure> BatchProgress::take_failure() {
  std::pair<int64_t, Failure> first = *failures_.begin();
  for (const auto& [row, failure] : failures_) {
    try_again(row);
    if (!row_at(row).is_posted) take_back(row);
  }
  unfinished_ += std::ssize(failures_);
  failures_.clear();
  times_failed_.clear();
  return first;
}

void BatchProgress::start_again() {
  for (int64_t row = 0; row < std::ssize(rows_); ++row) {
    if (row_at(row).state == State::placed) {
      row_at(row).state = State::wanted;
      ++unfinished_;
    }
    take_back(row);
  }
  has_target_ = false;
  target_ = {};
  block_ = {};
  place = -1;
}

void BatchProgress::set_target(const WorkBoard::Target& target, IntrusivePtr<SharedBlock> block) {
  has_target_ = true;
  target_ = target;
  block_ = std::move(block);
  std::erase_if(alone_, [&](const auto& alone) {
    const auto& [row, example] = alone;
    if (!target_.layout.fits(example)) return false;
    target_.layout.write(example, block_->data(), row);
    row_at(row).state = State::placed;
    return true;
  });
}

Batch BatchProgress::assemble() {
  Batch batch;
  if (target_.layout.is_defined()) {
    Example planes = block_->wrap(target_.layout, block_->data());
    for (Array& plane : planes) plane = datasets::mark_collated(plane);
    batch = BatchLayout::rows(planes, std::ssize(rows_));
  } else {
    batch.resize(rows_.size());
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row].state != State::placed) continue;
      char* const slot = block_->data() + static_cast<int64_t>(row) * target_.room;
      const Example planes = block_->wrap(PackedExample::layout(slot), PackedExample::planes(slot));
      batch[row] = BatchLayout::rows(planes, 1).front();
    }
  }
  for (auto& [row, example] : alone_) batch[static_cast<size_t>(row)] = std::move(example);
  size_t kept = 0;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].state == State::left_out) continue;
    if (kept != row) batch[kept] = std::move(batch[row]);
    ++kept;
  }
  batch.resize(kept);
  return batch;
}

}  // namespace kusari::iterators
