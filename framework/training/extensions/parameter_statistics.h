#pragma once

#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

/// A function of the values of one parameter, in C order, that returns a number or a vector of numbers.
class Statistic {
 public:
  template <class F>
  requires std::invocable<F&, std::span<const double>> Statistic(F function) {
    if constexpr (std::is_arithmetic_v<std::invoke_result_t<F&, std::span<const double>>>) {
      function_ = [f = std::move(function)](std::span<const double> x) {
        return std::vector<double>{static_cast<double>(f(x))};
      };
    } else {
      function_ = std::move(function);
    }
  }
  std::vector<double> operator()(std::span<const double> values) const { return function_(values); }

 private:
  Callable<std::vector<double>(std::span<const double>)> function_;
};
/// Statistics under the names that reports give them.
using NamedStatistics = std::vector<std::pair<std::string, Statistic>>;

/// mean, std, min, max, zeros (how many) and percentile (0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87: those of whole
/// standard deviations of a normal distribution).
KUSARI_API NamedStatistics default_statistics();

struct ParameterStatisticsOptions {
  NamedStatistics statistics = default_statistics();
  bool report_params = true;          ///< the values
  bool report_grads = true;           ///< the gradients, without the loss scale
  std::string prefix = {};            ///< "<prefix>/" stands before all names
  TriggerRef trigger = {1, "epoch"};  ///< when the means of what was collected are reported
  bool skip_nan_params = false;       ///< a single NaN instead of each statistic of values with a NaN among them
};

/// Reports statistics of the parameters of links under "<prefix>/<link>/<path>/data/mean", ".../grad/mean"; of a
/// statistic with several numbers, ".../percentile/0" and so on. Whenever it is called, every iteration unless told
/// otherwise, it collects them on the host, in float64; what it reports are the means over the calls since the last
/// report. Parameters without shape, without elements or, for gradients, without one, are passed over.
///
/// A model stands without a name: "l1/W/data/mean". Links are referred to, by homes that follow them.
/// chainer.training.extensions.ParameterStatistics.
class KUSARI_API ParameterStatistics final : public Extension {
 public:
  /// A link beside its name, which the list does not own.
  struct LinkRef {
    LinkRef(Link& named) noexcept : link{&named} {}
    Link* link;  ///< never null
  };
  using NamedLinks = std::vector<std::pair<std::string, LinkRef>>;

  explicit ParameterStatistics(Link& link, ParameterStatisticsOptions options = {});
  /// `ParameterStatistics({{"gen", gen}, {"dis", dis}})`
  explicit ParameterStatistics(const NamedLinks& links, ParameterStatisticsOptions options = {});

  /// Adds a statistic, or replaces the one of that name.
  void register_statistics(const std::string& name, Statistic function);

  void operator()(Trainer& trainer) override;
  std::string default_name() const override { return "parameter_statistics"; }
  int default_priority() const override { return kPriorityWriter; }
  void serialize(Serializer& serializer) override;

 private:
  void collect(const std::string& name, std::span<const double> values);

  std::vector<std::pair<std::string, IntrusivePtr<Home>>> links_;  // the names end with '/', if any
  ParameterStatisticsOptions options_;
  DictSummary summary_;
};

}  // namespace kusari::training::extensions
