#include "kusari/framework/core/report_means.h"

namespace kusari {

std::optional<ReportScope> ReportMeans::report_to(Observation& observation) {
  if (get_current_reporter() == nullptr) return std::nullopt;
  return std::optional<ReportScope>(std::in_place, observation);
}

void ReportMeans::add(const Observation& observation) {
  ++count_;
  means_.add(observation);
  for (const auto& [key, value] : observation) {
    if (!value.is_scalar()) others_.set(key, value);
  }
}

void ReportMeans::report() const {
  Reporter* const reporter = get_current_reporter();
  if (reporter == nullptr || count_ == 0) return;
  for (const auto& [key, mean] : means_.mean_values(1 / static_cast<double>(count_))) {
    reporter->observation().set(key, mean);
  }
  for (const auto& [key, value] : others_) reporter->observation().set(key, value);
}

}  // namespace kusari
