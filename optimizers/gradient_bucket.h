#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/kernels/all_reduce.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/rule.h"

namespace kusari {

/// Gradients of one dtype and device that travel together: they are copied to one block, and views of it take their
/// place, in the memory order of their parameters.
class GradientBucket {
 public:
  /// What the gradient on a device that a rank lacks would have been multiplied by.
  using ScaleOf = std::function<detail::GradientScale(const Device& device)>;

  /// `wire`: in what they travel. `detail`: how messages call the bucket.
  GradientBucket(std::vector<Parameter*> members, Dtype wire, std::string detail);

  const std::vector<Parameter*>& members() const noexcept { return members_; }
  /// Numbers of operations that start() takes.
  int operations() const;
  /// Copies the gradients, and starts their way. `number`: reserved, or 0.
  void start(collectives::Group& group, const ScaleOf& scale_of, int64_t number);
  bool is_started() const noexcept { return reduction_ != nullptr; }
  bool test() { return reduction_->test(); }
  /// What becomes of the sum: it takes the place of gradients that have not changed since start(), or of any, or none.
  enum class Use { unchanged, any, none };
  /// Waits for the sum with these weights of the ranks; seconds of waiting. Throws StateError when a gradient has
  /// changed that must not.
  double finish(const std::vector<double>& weights, Use use);

 private:
  void warn_of_non_finite(const collectives::Group& group) const;
  struct Sent {
    detail::GradientScale scale;
    detail::WrittenState written;  // of the gradient; storage 0: there was none
  };

  std::vector<Parameter*> members_;
  Dtype wire_;
  std::string detail_;
  int64_t size_ = 0;
  Array buffer_, host_;
  std::vector<Array> views_;
  std::vector<Sent> sent_;
  std::unique_ptr<AllReduce> reduction_;
};

}  // namespace kusari
