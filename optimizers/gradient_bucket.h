#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/kernels/all_reduce.h"
#include "kusari/framework/kernels/device_group.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/rule.h"

namespace kusari {

/// Gradients of one dtype and device that travel together: they are copied to one block, and views of it take their
/// place, in the memory order of their parameters.
class GradientBucket {
 public:
  /// What the gradient on a device that a rank lacks would have been multiplied by.
  using ScaleOf = Callable<detail::GradientScale(const Device& device)>;

  /// `wire`: in what they travel. `detail`: how messages call the bucket.
  GradientBucket(std::vector<Parameter*> members, Dtype wire, std::string detail);
  GradientBucket(GradientBucket&&) noexcept;
  GradientBucket& operator=(GradientBucket&&) noexcept;
  ~GradientBucket();

  /// Until the model is moved.
  const std::vector<Parameter*>& members() const noexcept { return members_; }
  /// Numbers of operations that start() takes.
  int operations() const;
  const Device& device() const noexcept { return members_[0]->device(); }
  /// "bucket 3: /conv1/W .. /conv2/b".
  const std::string& detail() const noexcept { return detail_; }
  /// Copies the gradients, and starts their way. `number`: reserved, or 0.
  void start(collectives::Group& group, const ScaleOf& scale_of, int64_t number);
  bool test() { return reduction_ == nullptr || reduction_->test(); }
  /// What becomes of the sum: it takes the place of gradients that have not changed since start(), or of any, or none.
  enum class Use { unchanged, any, none };
  /// Waits for the sum with these weights of the ranks; seconds of waiting. Throws StateError when a gradient has
  /// changed that must not.
  double finish(const std::vector<double>& weights, Use use);

  /// The same from device to device. `inverse_weight`: of this rank, one float64 element, by which what is sent is
  /// divided.
  void start_on(DeviceGroup& group, const ScaleOf& scale_of, const Array& inverse_weight);

  // The parts of start() and finish() that launch kernels, between which somebody else puts the sum in the place of the
  // gradients.

  const Array& pack(const ScaleOf& scale_of, const detail::GradientScale& divisor = {});
  void adopt(Use use);

 private:
  void warn_of_non_finite(const collectives::Group& group) const;
  struct Sent {
    detail::GradientScale scale;
    detail::WrittenState written;  // of the gradient; storage 0: there was none
  };

  std::vector<Parameter*> members_;
  Variables parameters_;  // the same: finish() finds them where they have moved to
  Dtype wire_;
  std::string detail_;
  int64_t size_ = 0;
  Array buffer_, host_;
  std::vector<Array> views_;
  std::vector<Sent> sent_;
  std::unique_ptr<AllReduce> reduction_;
  DeviceGroup* on_device_ = nullptr;  // which adds, instead
};

}  // namespace kusari
