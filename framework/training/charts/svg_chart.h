#pragma once

#include <array>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/charts/line_chart.h"

namespace kusari::training::charts {

/// Colours of curves on a light background, repeated beyond the last: after Okabe and Ito 2008 ("Color Universal
/// Design"), darkened where white is behind.
inline constexpr std::array<const char*, 8> kSeriesColors{"#1f6fb5", "#d9650b", "#0b8a66", "#b8458e",
                                                          "#8a6d00", "#2fa0d8", "#7a5cc4", "#6b7280"};

/// The chart as an svg element, styled by the classes of kChartStyle. What a script needs in order to show the values
/// below the pointer is in data- attributes: of the svg, `data-plot` (left, top, width, height) and `data-axes` (x and
/// y at the plot's corners, "log" if so); of each curve, `data-name` and `data-points` (x,y ...). Curves of more than
/// some hundred points are thinned so that their outline stays.
KUSARI_API std::string to_svg(const LineChart& chart);

/// An SVG file of the charts, light on any background.
KUSARI_API std::string to_svg_file(const ChartGrid& grid);

/// CSS of the classes, with the variables --ink, --muted, --rule, --surface and --series-0 to --series-7.
extern const char* const kChartStyle;
/// Those variables for a light background.
std::string light_colors();

}  // namespace kusari::training::charts
