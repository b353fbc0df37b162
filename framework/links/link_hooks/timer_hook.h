#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/time_records.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::link_hooks {

/// Measures the wall time of the forward computation of links, waiting for their devices before and after each:
/// `TimerHook timer; { const ScopedLinkHook scope(timer); model(x); } timer.print_report();`.
/// chainer.link_hooks.TimerHook.
class KUSARI_API TimerHook final : public LinkHook {
 public:
  const char* name() const override { return "TimerHook"; }
  void forward_preprocess(Link& link) override;
  void forward_postprocess(Link& link) override;

  /// Every measurement, in the order in which they ended: the link's class and seconds.
  const TimeHistory& call_history() const noexcept { return history_; }
  /// In seconds; a link that another one called counts once, with its caller.
  double total_time() const noexcept { return total_; }
  /// One record per class of links, in the order of their first end.
  std::vector<TimeRecord> summary() const { return summarize_times(history_); }
  /// The summary as a table: LinkName, ElapsedTime, Occurrence.
  std::string report() const { return time_table("LinkName", summary()); }
  /// Writes report() to `out`, or to the standard output.
  void print_report() const;
  void print_report(std::ostream& out) const;

 private:
  std::vector<double> running_;
  TimeHistory history_;
  double total_ = 0;
};

}  // namespace kusari::link_hooks
