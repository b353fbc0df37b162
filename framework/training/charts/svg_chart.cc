#include "kusari/framework/training/charts/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kusari/framework/core/number_text.h"
#include "kusari/framework/training/charts/axis.h"
#include "kusari/framework/training/charts/markup.h"

namespace kusari::training::charts {

std::string light_colors() {
  std::string css = "--ink:#1d2733;--muted:#5c6875;--rule:#e3e7ec;--surface:#ffffff";
  for (size_t i = 0; i < kSeriesColors.size(); ++i) css += ";--series-" + std::to_string(i) + ":" + kSeriesColors[i];
  return css;
}

const char* const kChartStyle = R"(.chart{font:12px system-ui,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif}
.chart text{fill:var(--muted)}
.chart .title{fill:var(--ink);font-size:14px;font-weight:600}
.chart .legend{fill:var(--ink)}
.chart .rule{stroke:var(--rule)}
.chart .axis{stroke:var(--muted);stroke-opacity:.6}
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.chart .dense{stroke-width:1;stroke-opacity:.85}
.chart .mark{stroke-width:1.5;stroke-linejoin:round}
.chart .open{fill:none}
.chart .band{stroke:none;fill-opacity:.16}
)";

namespace {

constexpr double kLineHeight = 18, kGlyph = 6.6;  // pixels: of text of 12 px, on average

std::string number(double value) { return general_text(value, 9); }

double text_width(const std::string& text) {
  const auto is_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return kGlyph * static_cast<double>(std::count_if(text.begin(), text.end(), is_character));
}

std::string text_element(double x, double y, const char* attributes, const std::string& text) {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\"" + attributes + ">" + escaped(text) + "</text>";
}

std::string line_element(double x1, double y1, double x2, double y2, const char* kind) {
  return std::string("<line class=\"") + kind + "\" x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) + "\" x2=\"" +
         coordinate(x2) + "\" y2=\"" + coordinate(y2) + "\"/>";
}

/// First, lowest, highest and last of every bucket of points, gaps kept: what a line of a few hundred pixels shows.
std::vector<Point> thinned(const std::vector<Point>& points) {
  constexpr size_t kBuckets = 250;
  if (points.size() <= 4 * kBuckets) return points;
  std::vector<Point> kept;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    const size_t begin = bucket * points.size() / kBuckets, end = (bucket + 1) * points.size() / kBuckets;
    const auto below = [&](size_t a, size_t b) { return points[a].y < points[b].y; };
    size_t low = begin, high = begin, gap = end;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(points[i].y)) {
        gap = i;
      } else {
        if (!std::isfinite(points[low].y) || below(i, low)) low = i;
        if (!std::isfinite(points[high].y) || below(high, i)) high = i;
      }
    }
    std::vector<size_t> chosen{begin, low, high, end - 1};
    if (gap != end) chosen.push_back(gap);
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const size_t i : chosen) kept.push_back(points[i]);
  }
  return kept;
}

/// The outline of one marker around (x, y), `r` being half its size.
std::string marker_path(char marker, double x, double y) {
  constexpr double r = 3;
  const auto at = [&](double dx, double dy) { return coordinate(x + dx) + " " + coordinate(y + dy); };
  const auto polygon = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string path;
    for (const auto& [dx, dy] : corners) path += (path.empty() ? "M" : "L") + at(dx * r, dy * r);
    return path + "Z";
  };
  const auto circle = [&](double radius) {
    const std::string arc = "a" + coordinate(radius) + " " + coordinate(radius) + " 0 1 0 ";
    return "M" + at(-radius, 0) + arc + coordinate(2 * radius) + " 0" + arc + coordinate(-2 * radius) + " 0Z";
  };
  const std::string cross = "M" + at(-r, -r) + "L" + at(r, r) + "M" + at(-r, r) + "L" + at(r, -r);
  const std::string plus = "M" + at(-r, 0) + "L" + at(r, 0) + "M" + at(0, -r) + "L" + at(0, r);
  switch (marker) {
    case '.':
      return circle(1.5);
    case 'o':
      return circle(r);
    case 'x':
      return cross;
    case '+':
      return plus;
    case '*':
      return cross + plus;
    case 's':
      return polygon({{-1, -1}, {1, -1}, {1, 1}, {-1, 1}});
    case '^':
      return polygon({{0, -1.1}, {1.1, 0.9}, {-1.1, 0.9}});
    case 'v':
      return polygon({{0, 1.1}, {1.1, -0.9}, {-1.1, -0.9}});
    default:  // 'D'
      return polygon({{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}});
  }
}

class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_{chart} {
    for (const Curve& curve : chart.curves) curves_.push_back(thinned(curve.points));
    find_axes();
    find_plot();
  }

  std::string svg() const {
    const std::string w = std::to_string(chart_.width), h = std::to_string(chart_.height);
    std::string result = "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
                         "\" viewBox=\"0 0 " + w + " " + h + "\" role=\"img\" aria-label=\"" + escaped(label()) +
                         "\" data-plot=\"" + coordinate(left_) + " " + coordinate(top_) + " " + coordinate(width_) +
                         " " + coordinate(height_) + "\" data-axes=\"" + number(x_.low) + " " + number(x_.high) + " " +
                         number(y_.low) + " " + number(y_.high) + (y_.log ? " log" : "") + "\" data-x=\"" +
                         escaped(chart_.x_label) + "\">\n";
    if (!chart_.title.empty()) result += text_element(left_, 18, " class=\"title\"", chart_.title) + "\n";
    result += legend() + axes();
    for (const Band& band : chart_.bands) result += area(band);
    for (size_t i = 0; i < curves_.size(); ++i) result += curve(i);
    return result + "</svg>\n";
  }

 private:
  bool is_drawn(double y) const { return std::isfinite(y) && (!chart_.log_y || y > 0); }
  double px(double x) const { return left_ + width_ * x_.place(x); }
  double py(double y) const { return top_ + height_ * (1 - std::clamp(y_.place(y), -10.0, 10.0)); }
  std::string point(double x, double y) const { return coordinate(px(x)) + " " + coordinate(py(y)); }
  std::string label() const {
    std::string names = chart_.title;
    for (const Curve& c : chart_.curves) names += (names.empty() ? "" : ", ") + c.name;
    return names;
  }

  void find_axes() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double x_low = kInfinity, x_high = -kInfinity, y_low = kInfinity, y_high = -kInfinity;
    bool integers = true;
    const auto see = [&](double x, double y) {
      if (!std::isfinite(x) || !is_drawn(y)) return;
      x_low = std::min(x_low, x), x_high = std::max(x_high, x);
      y_low = std::min(y_low, y), y_high = std::max(y_high, y);
      integers = integers && x == std::round(x);
    };
    for (const auto& points : curves_) {
      for (const Point& p : points) see(p.x, p.y);
    }
    for (const Band& band : chart_.bands) {
      for (const Range& r : band.ranges) see(r.x, r.low), see(r.x, r.high);
    }
    if (x_low > x_high) x_low = 0, x_high = 1, y_low = chart_.log_y ? 0.1 : 0, y_high = 1;
    const bool fixed = x_low < x_high;  // the axis ends where the curves do
    x_ = make_axis(x_low, x_high,
                   {.marks = chart_.width / 90, .integers = integers, .fixed_low = fixed, .fixed_high = fixed});
    const bool has_min = chart_.y_min && is_drawn(*chart_.y_min), has_max = chart_.y_max && is_drawn(*chart_.y_max);
    y_ = make_axis(has_min ? *chart_.y_min : y_low, has_max ? *chart_.y_max : y_high,
                   {.marks = chart_.height / 60, .log = chart_.log_y, .fixed_low = has_min, .fixed_high = has_max});
  }

  void find_plot() {
    double widest = 0;
    for (const Axis::Tick& tick : y_.ticks) widest = std::max(widest, text_width(tick.label));
    left_ = widest + 14 + (chart_.y_label.empty() ? 0 : kLineHeight);
    width_ = std::max(chart_.width - left_ - 18, 10.0);
    top_ = chart_.title.empty() ? 10 : 28;
    double x = left_;
    const bool is_plain = chart_.curves.size() == 1 && chart_.curves[0].name == chart_.title;
    for (const Curve& c : is_plain ? std::vector<Curve>() : chart_.curves) {
      const double size = text_width(c.name) + 34;
      if (x > left_ && x + size > left_ + width_) x = left_, top_ += kLineHeight;
      legend_.push_back({x, top_ + 8});
      x += size;
    }
    if (!legend_.empty()) top_ += kLineHeight + 6;
    height_ = std::max(chart_.height - top_ - 22 - (chart_.x_label.empty() ? 0 : kLineHeight), 10.0);
  }

  std::string legend() const {
    std::string result;
    for (size_t i = 0; i < legend_.size(); ++i) {
      const auto [x, y] = legend_[i];
      result += "<path class=\"line\" style=\"stroke:" + color(i) + "\" d=\"M" + coordinate(x) + " " + coordinate(y) +
                "h18\"/>" + text_element(x + 24, y + 4, " class=\"legend\"", chart_.curves[i].name) + "\n";
    }
    return result;
  }

  std::string axes() const {
    const double right = left_ + width_, bottom = top_ + height_;
    std::string result;
    for (const Axis::Tick& tick : y_.ticks) {
      const double y = py(tick.value);
      if (chart_.grid) result += line_element(left_, y, right, y, "rule");
      result += text_element(left_ - 7, y + 4, " text-anchor=\"end\"", tick.label) + "\n";
    }
    for (const Axis::Tick& tick : x_.ticks) {
      const double x = px(tick.value);
      result += chart_.grid ? line_element(x, top_, x, bottom, "rule") : line_element(x, bottom, x, bottom + 4, "axis");
      const double inside = chart_.width - text_width(tick.label) / 2 - 2;
      result += text_element(std::min(x, inside), bottom + 16, " text-anchor=\"middle\"", tick.label) + "\n";
    }
    result += line_element(left_, bottom, right, bottom, "axis");
    if (!chart_.grid) result += line_element(left_, top_, left_, bottom, "axis");
    if (!chart_.x_label.empty()) {
      result += text_element(left_ + width_ / 2, bottom + 16 + kLineHeight, " text-anchor=\"middle\"", chart_.x_label);
    }
    if (!chart_.y_label.empty()) {
      const std::string turn =
          " text-anchor=\"middle\" transform=\"rotate(-90 14 " + coordinate(top_ + height_ / 2) + ")\"";
      result += text_element(14, top_ + height_ / 2, turn.c_str(), chart_.y_label);
    }
    return result + "\n";
  }

  std::string area(const Band& band) const {
    std::string path;
    for (size_t begin = 0; begin < band.ranges.size();) {
      size_t end = begin;
      const auto is_area = [&](const Range& r) { return std::isfinite(r.x) && is_drawn(r.low) && is_drawn(r.high); };
      while (end < band.ranges.size() && is_area(band.ranges[end])) ++end;
      for (size_t i = begin; i < end; ++i)
        path += (i == begin ? "M" : "L") + point(band.ranges[i].x, band.ranges[i].high);
      for (size_t i = end; i > begin; --i) path += "L" + point(band.ranges[i - 1].x, band.ranges[i - 1].low);
      if (end > begin) path += "Z";
      begin = end + 1;
    }
    return path.empty() ? "" : "<path class=\"band\" style=\"fill:" + color(band.color) + "\" d=\"" + path + "\"/>\n";
  }

  std::string curve(size_t index) const {
    std::string path, markers, values;
    size_t drawn = 0;  // of the piece since the last gap
    for (const Point& p : curves_[index]) {
      if (!std::isfinite(p.x) || !is_drawn(p.y)) {
        if (std::exchange(drawn, 0) == 1) path += "h0";  // a dot
        continue;
      }
      path += (drawn++ == 0 ? "M" : "L") + point(p.x, p.y);
      if (!chart_.marker.empty()) markers += marker_path(chart_.marker[0], px(p.x), py(p.y));
      values += (values.empty() ? "" : " ") + number(p.x) + "," + number(p.y);
    }
    if (drawn == 1) path += "h0";
    if (path.empty()) return "";
    const std::string stroke = "style=\"stroke:" + color(index);
    constexpr size_t kDense = 300;
    std::string result = std::string("<path class=\"line") + (curves_[index].size() > kDense ? " dense" : "") + "\" " +
                         stroke + "\" data-name=\"" + escaped(chart_.curves[index].name) + "\" data-points=\"" +
                         values + "\" d=\"" + path + "\"/>\n";
    const bool is_open = chart_.marker == "x" || chart_.marker == "+" || chart_.marker == "*";
    if (!markers.empty()) {
      result += std::string("<path class=\"mark") + (is_open ? " open" : "") + "\" " + stroke +
                (is_open ? "" : ";fill:" + color(index)) + "\" d=\"" + markers + "\"/>\n";
    }
    return result;
  }

  static std::string color(size_t index) {
    return "var(--series-" + std::to_string(index % kSeriesColors.size()) + ")";
  }

  const LineChart& chart_;
  std::vector<std::vector<Point>> curves_;
  std::vector<std::pair<double, double>> legend_;  // where the entries begin
  Axis x_, y_;
  double left_ = 0, top_ = 0, width_ = 0, height_ = 0;  // of the plot, pixels
};

}  // namespace

std::string to_svg(const LineChart& chart) { return Drawing(chart).svg(); }

std::string to_svg_file(const ChartGrid& grid) {
  const double top = grid.title.empty() ? 0 : 28;
  double x = 0, y = top, width = 0, row = 0;
  std::string charts;
  for (size_t i = 0; i < grid.charts.size(); ++i) {
    const LineChart& chart = grid.charts[i];
    if (i > 0 && i % static_cast<size_t>(grid.columns) == 0) x = 0, y += row, row = 0;
    charts += "<g transform=\"translate(" + coordinate(x) + " " + coordinate(y) + ")\">\n" + to_svg(chart) + "</g>\n";
    x += chart.width;
    width = std::max(width, x);
    row = std::max(row, static_cast<double>(chart.height));
  }
  const std::string w = coordinate(width), h = coordinate(y + row);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w +
         "\" height=\"" + h + "\" viewBox=\"0 0 " + w + " " + h + "\">\n<style>:root{" + light_colors() + "}\n" +
         kChartStyle + "</style>\n<rect width=\"100%\" height=\"100%\" style=\"fill:var(--surface)\"/>\n" +
         (grid.title.empty()
              ? ""
              : "<g class=\"chart\">" + text_element(14, 20, " class=\"title\"", grid.title) + "</g>\n") +
         charts + "</svg>\n";
}

}  // namespace kusari::training::charts
