#include "kusari/framework/training/charts/line_chart.h"

#include <algorithm>
#include <cmath>

namespace kusari::training::charts {

bool LineChart::has_data() const {
  const auto is_drawn = [](const Point& p) { return std::isfinite(p.x) && std::isfinite(p.y); };
  const auto is_area = [](const Range& r) {
    return std::isfinite(r.x) && std::isfinite(r.low) && std::isfinite(r.high);
  };
  return std::any_of(curves.begin(), curves.end(),
                     [&](const Curve& c) { return std::any_of(c.points.begin(), c.points.end(), is_drawn); }) ||
         std::any_of(bands.begin(), bands.end(),
                     [&](const Band& b) { return std::any_of(b.ranges.begin(), b.ranges.end(), is_area); });
}

bool is_marker(const std::string& marker) {
  return marker.empty() || (marker.size() == 1 && std::string(".ox+*s^vD").find(marker) != std::string::npos);
}

}  // namespace kusari::training::charts
