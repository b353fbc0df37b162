#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/export.h"

namespace kusari {

struct AllReduceOptions {
  std::vector<double> weights = {};  ///< of the ranks, the same on all of them; empty: all 1
  double scale = 1;                  ///< what the sum is multiplied by
  std::string detail = {};           ///< for messages: "bucket 3: /conv1/W .. /conv2/b"
  int64_t first_number = 0;          ///< of operations() that were reserved; 0: the next ones
  bool awaits_weights = false;       ///< set_weights() says them later; nothing is summed until then
};

/// Replaces `data` by scale * the weighted sum of the ranks' arrays: of the same dtype and size on all ranks, on the
/// CPU, in C order, contiguous. Bytes alone travel, and each sum is made once, by kernels::SumRows: the same bits on
/// all ranks, with any MPI and any number of machines. A large array goes in slices, each as chunks to the ranks that
/// sum them and back; up to 16 KiB go whole, and each rank sums for itself.
class KUSARI_API AllReduce final : public collectives::Ticket {
 public:
  /// Starts it. Collective.
  AllReduce(collectives::Group& group, const Array& data, AllReduceOptions options = {});
  ~AllReduce() override;

  /// How many operations of the group one is.
  static int operations(int64_t size, Dtype dtype);
  void set_weights(const std::vector<double>& weights);

  bool test() override;
  void list_awaited(std::vector<int>& ranks) const override;
  /// Waits for the end; seconds that it took.
  double wait();

 private:
  struct Slice;
  void sum(const Array& rows, const Array& to) const;
  bool advance(Slice& slice, size_t index);
  void start(size_t index);
  collectives::Operation operation() const { return {"all-reduce", options_.detail}; }

  collectives::Group& group_;
  Array data_;
  AllReduceOptions options_;
  Array weights_;
  bool may_sum_ = true;
  int64_t first_number_ = 0, slice_size_ = 0;
  size_t slice_count_ = 0, started_ = 0, done_ = 0;
  std::vector<std::unique_ptr<Slice>> under_way_;  // two at most
};

}  // namespace kusari
