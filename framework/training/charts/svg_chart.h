#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/charts/line_chart.h"

namespace kusari::training::charts {

/// Colours of curves, repeated beyond the last.
inline constexpr int kColors = 8;

/// The chart as an svg element, styled by the classes of kChartStyle. What a script needs in order to show the values
/// below the pointer is in data- attributes: of the svg, `data-plot` (left, top, width, height) and `data-axes` (x and
/// y at the plot's corners, "log" if so); of each curve, `data-name` and `data-points` (x,y ...). Curves of more than
/// some hundred points are thinned so that their outline stays.
KUSARI_API std::string to_svg(const LineChart& chart);

/// An SVG file of the charts, light on any background.
KUSARI_API std::string to_svg_file(const ChartGrid& grid);

/// CSS of the classes, with the variables --ink, --muted, --rule, --surface and --series-0 to --series-7.
extern const char* const kChartStyle;
/// Values of those variables for a light background.
extern const char* const kLightColors;

}  // namespace kusari::training::charts
