#include "kusari/framework/links/link_hooks/timer_hook.h"

#include <iostream>

#include "kusari/framework/core/seconds.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari::link_hooks {

void TimerHook::forward_preprocess(Link& link) {
  synchronize(link.device());
  running_.push_back(steady_seconds());
}

void TimerHook::forward_postprocess(Link& link) {
  synchronize(link.device());
  const double seconds = steady_seconds() - running_.back();
  running_.pop_back();
  history_.emplace_back(detail::class_name(link), seconds);
  if (running_.empty()) total_ += seconds;
}

void TimerHook::print_report() const { print_report(std::cout); }
void TimerHook::print_report(std::ostream& out) const { out << report() << std::flush; }

}  // namespace kusari::link_hooks
