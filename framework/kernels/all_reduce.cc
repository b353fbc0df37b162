#include "kusari/framework/kernels/all_reduce.h"

#include <algorithm>

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/sum_rows.h"

namespace kusari {
namespace {

constexpr int64_t kWhole = 16 * 1024;              // bytes up to which each rank sums for itself
constexpr int64_t kSliceBytes = int64_t{4} << 20;  // what is summed is still in a cache
constexpr int64_t kAlign = 64;                     // bytes: chunks begin with a cache line

int64_t slice_size(int64_t size, Dtype dtype) {
  return size * itemsize(dtype) <= kWhole ? size : kSliceBytes / itemsize(dtype);
}

}  // namespace

struct AllReduce::Slice {
  enum class State { gathers, scatters };

  State state;
  int64_t begin, size;
  Array rows;                           // what has come from the ranks
  std::vector<size_t> offsets, counts;  // bytes of the ranks' chunks
  collectives::TicketPtr ticket;
};

AllReduce::AllReduce(collectives::Group& group, const Array& data, AllReduceOptions options)
    : group_{group}, data_{data.reshape({-1})}, options_{std::move(options)}, may_sum_{!options_.awaits_weights} {
  if (may_sum_) set_weights(options_.weights);
  const int64_t size = data_.size();
  if (size == 0 || group.size() == 1) return;
  if (options_.first_number == 0) group.compare_calls(operation(), static_cast<size_t>(data_.nbytes()));
  slice_size_ = slice_size(size, data_.dtype());
  slice_count_ = static_cast<size_t>((size + slice_size_ - 1) / slice_size_);
  first_number_ =
      options_.first_number != 0 ? options_.first_number : group.reserve(operation(), operations(size, data_.dtype()));
  under_way_.resize(2);
  for (size_t i = 0; i < std::min<size_t>(2, slice_count_); ++i) start(i);
}

int AllReduce::operations(int64_t size, Dtype dtype) {
  const int64_t slice = std::max<int64_t>(1, slice_size(size, dtype));
  return static_cast<int>(2 * ((size + slice - 1) / slice));
}

void AllReduce::set_weights(const std::vector<double>& weights) {
  options_.weights = weights;
  const auto differs = [&](double weight) { return weight != weights[0]; };
  if (std::any_of(weights.begin(), weights.end(), differs)) {
    weights_ = array<double>(weights);
  } else if (!weights.empty()) {
    options_.scale *= weights[0];
  }
  may_sum_ = true;
  if (group_.size() == 1 && data_.size() > 0 && options_.scale != 1) {
    sum(data_.copy().reshape({1, data_.size()}), data_);
  }
}

AllReduce::~AllReduce() = default;

void AllReduce::sum(const Array& rows, const Array& to) const {
  launch<kernels::SumRows>(Device(), rows, weights_, options_.scale, to);
}

void AllReduce::start(size_t index) {
  const int64_t item = itemsize(data_.dtype()), ranks = group_.size();
  auto slice = std::make_unique<Slice>();
  slice->begin = static_cast<int64_t>(index) * slice_size_;
  slice->size = std::min(slice_size_, data_.size() - slice->begin);
  const auto number = first_number_ + 2 * static_cast<int64_t>(index);
  char* const bytes = static_cast<char*>(data_.raw_data()) + slice->begin * item;
  const bool is_whole = slice_count_ == 1 && data_.nbytes() <= kWhole;
  slice->state = is_whole ? Slice::State::gathers : Slice::State::scatters;
  const int64_t share = (slice->size + ranks - 1) / ranks, line = kAlign / item;
  const int64_t chunk = is_whole ? slice->size : (share + line - 1) / line * line;
  slice->rows = empty({ranks, chunk}, data_.dtype());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t begin = is_whole ? rank * chunk : std::min(slice->size, rank * chunk);
    const int64_t end = is_whole ? begin + chunk : std::min(slice->size, begin + chunk);
    slice->offsets.push_back(static_cast<size_t>(begin * item));
    slice->counts.push_back(static_cast<size_t>((end - begin) * item));
  }
  if (is_whole) {
    slice->rows.at(group_.rank()).copy_from(data_);
    slice->ticket = group_.start_allgather(operation(), slice->rows.raw_data(), slice->offsets, slice->counts, number);
  } else {
    slice->ticket = group_.start_alltoall(operation(), bytes, slice->offsets, slice->counts, slice->rows.raw_data(),
                                          static_cast<size_t>(chunk * item), number);
  }
  slice->ticket->held = std::make_shared<const std::pair<Array, Array>>(data_, slice->rows);
  under_way_[index % 2] = std::move(slice);
  started_ = index + 1;
}

// Whether the slice is done.
bool AllReduce::advance(Slice& slice, size_t index) {
  if (slice.ticket != nullptr && !slice.ticket->test()) return false;
  if (slice.ticket != nullptr) ++moves;
  slice.ticket = nullptr;
  if (!may_sum_) return false;
  const int64_t item = itemsize(data_.dtype());
  if (slice.state == Slice::State::gathers) {
    if (slice.rows.is_defined()) sum(slice.rows, data_);
    return true;
  }
  const auto own = static_cast<size_t>(group_.rank());
  const int64_t begin = slice.begin + static_cast<int64_t>(slice.offsets[own]) / item;
  const int64_t size = static_cast<int64_t>(slice.counts[own]) / item;
  if (size > 0) {
    sum(slice.rows.slice(1, 0, size), data_.slice(0, begin, size));  // a last chunk may be shorter
  }
  slice.rows = Array();
  slice.state = Slice::State::gathers;
  slice.ticket =
      group_.start_allgather(operation(), static_cast<char*>(data_.raw_data()) + slice.begin * item, slice.offsets,
                             slice.counts, first_number_ + 2 * static_cast<int64_t>(index) + 1);
  slice.ticket->held = std::make_shared<const Array>(data_);
  return advance(slice, index);
}

bool AllReduce::test() {
  for (size_t index = done_; index < started_; ++index) {
    auto& slice = under_way_[index % 2];
    if (slice && advance(*slice, index)) slice = nullptr;
  }
  while (done_ < started_ && under_way_[done_ % 2] == nullptr) {
    ++done_;
    if (started_ < slice_count_) start(started_);
  }
  if (done_ < slice_count_) return false;
  data_.mark_written();
  return true;
}

void AllReduce::list_awaited(std::vector<int>& ranks) const {
  for (const auto& slice : under_way_) {
    if (slice && slice->ticket) slice->ticket->list_awaited(ranks);
  }
}

double AllReduce::wait() { return group_.wait(*this, operation(), first_number_); }

}  // namespace kusari
