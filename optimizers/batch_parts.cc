#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/report_means.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/optimizers/batch_part.h"
#include "kusari/optimizers/optimizer_impl.h"

// Steps whose gradients are sums over the parts of a batch, in an order that does not depend on the number of ranks.
namespace kusari {

using detail::GradientScale;

namespace {

/// Of one parameter; undefined: zeros.
Array sum_of(const Array& a, const Array& b) {
  if (!a.is_defined() && !b.is_defined()) return Array();
  const auto value = [](const Array& own, const Array& like) { return own.is_defined() ? own : zeros_like(like); };
  return pointwise(kernels::Add{}, value(a, b), value(b, a));
}

/// Sums of gradients, which join two neighbours as soon as there are two of a size: what a binary tree joins.
class GradientTree {
 public:
  explicit GradientTree(std::vector<Parameter*> parameters)
      : parameters_{std::move(parameters)}, scales_(parameters_.size()) {}

  /// Takes the parameters' gradients, each times `weight`, or zeros.
  void take(int64_t weight) {
    std::vector<Array> gradients(parameters_.size());
    for (size_t i = 0; i < parameters_.size() && weight > 0; ++i) {
      Parameter& parameter = *parameters_[i];
      if (!parameter.is_initialized() || parameter.node()->grad == nullptr) continue;
      const Array& gradient = detail::gradient_of(parameter);
      if (gradient.dtype() != Dtype::float32 && gradient.dtype() != Dtype::float64) {
        throw StateError("Optimizer::update: the gradient of '" + parameter.name() + "' is " + name(gradient.dtype()) +
                         ": with `reproducible` it must be float32 or float64");
      }
      gradients[i] = pointwise(kernels::MulConst{static_cast<double>(weight)}, gradient);
      scales_[i] = {parameter.device_loss_scale(), parameter.loss_scale()};
    }
    int level = 0;
    for (; !sums_.empty() && sums_.back().level == level; ++level) {
      for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = sum_of(sums_.back().gradients[i], gradients[i]);
      sums_.pop_back();
    }
    sums_.push_back({level, std::move(gradients)});
  }
  /// Gives the parameters the sum, after as many parts as the tree has leaves.
  void give() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i]->cleargrad();
      const Array& sum = sums_.front().gradients[i];
      if (!sum.is_defined()) continue;
      parameters_[i]->set_grad(sum);
      if (scales_[i] == GradientScale()) continue;
      auto& saved = parameters_[i]->node()->saved_state();
      saved.loss_scale = scales_[i].host;
      saved.device_loss_scale = scales_[i].device;
    }
  }

 private:
  struct Sum {
    int level;
    std::vector<Array> gradients;
  };
  std::vector<Parameter*> parameters_;
  std::vector<GradientScale> scales_;
  std::vector<Sum> sums_;
};

/// Gives parameters their shapes, from the numbers that all ranks have in common, and leaves the rest as it is.
void make_parameters(const Callable<Variable()>& lossfun) {
  const auto test = using_config(&Config::train, false);
  const auto no_graph = using_config(&Config::enable_backprop, false);
  Observation forgotten;
  const std::optional<ReportScope> scope = ReportMeans::report_to(forgotten);
  lossfun();
}

}  // namespace

Variable detail::BatchPart::of(const Variable& batch) const {
  if (!batch.is_defined() || batch.ndim() == 0) return batch;
  return Variable(batch.array().slice(0, first, count(batch.shape(0)), step).contiguous(), false);
}

bool Optimizer::has_parts() const noexcept {
  return impl_->exchange != nullptr && impl_->exchange->options().parts > 0;
}

void Optimizer::throw_needs_parts() const {
  throw StateError(std::string(name()) +
                   "::update: with `reproducible` the loss function must take the batch as variables: "
                   "update(lossfun, x, t)");
}

void Optimizer::update_in_parts(int64_t examples, const detail::LossOfPart& loss_of) {
  cleargrads();
  GradientExchange& exchange = *impl_->exchange;
  const int64_t count = exchange.own_parts();
  const auto lacks_shape = [](const Impl::Member& member) { return !member.parameter->is_initialized(); };
  if (examples > 0 && std::any_of(impl_->members.begin(), impl_->members.end(), lacks_shape)) {
    make_parameters([&] { return loss_of({0, count}); });
    impl_->refresh();
  }
  GradientTree tree(impl_->all_parameters());
  ReportMeans reported;
  for (int64_t i = 0; i < count; ++i) {
    const detail::BatchPart part{detail::bit_reversed(i, count), count};
    const int64_t weight = part.count(examples);
    cleargrads();
    if (weight > 0) {
      Observation observation;
      const auto loss = [&] {
        const std::optional<ReportScope> reports = ReportMeans::report_to(observation);
        const ForwardScope scope =
            exchange.part_scope(impl_->forward_scope ? impl_->forward_scope() : ForwardScope(), part.first);
        const profiler::Range range("forward");
        return loss_of(part);
      };
      backward(loss(), {.release_graph = !config().keep_graph_on_report});
      reported.add(observation);
    }
    tree.take(weight);
  }
  tree.give();
  exchange.note_parts(examples);
  update();
  reported.report();
}

}  // namespace kusari
