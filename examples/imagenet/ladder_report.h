#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kusari/examples/imagenet/ladder_measure.h"

// A row of the ladder: what was changed since the row below, and what came of it.
struct Row {
  std::string name, title, change;
  Speed speed;
};

struct Report {
  std::string title;      // network, device, input
  std::vector<Row> rows;  // from the bottom to the top
  std::vector<std::string> notes;
};

template <class... Numbers>
std::string formatted(const char* format, Numbers... numbers) {
  char text[256];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

// Code in a cell of a Markdown table.
inline std::string markdown_code(const std::string& lines) {
  std::string text = "`";
  for (const char c : lines) text += c == '\n' ? std::string("`<br>`") : std::string(1, c);
  return text + "`";
}

inline std::string markdown(const Report& report) {
  std::string text = "# " + report.title +
                     "\n\n![images per second](ladder.svg)\n\n"
                     "| step | what changed | iterations/s | images/s | against the first | against the row before | "
                     "data, ms | compute, ms |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    const double images = row.speed.images_per_s, first = report.rows.front().speed.images_per_s;
    const double before = i > 0 ? report.rows[i - 1].speed.images_per_s : images;
    text += "| " + row.title + " | " + markdown_code(row.change) +
            formatted(" | %.3g | %.1f | %.2f | %.2f | %.1f | %.1f |\n", row.speed.iterations_per_s, images,
                      images / first, images / before, row.speed.data_ms, row.speed.compute_ms);
  }
  for (const std::string& note : report.notes) text += "\n" + note + "\n";
  return text;
}

inline std::string xml_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '&' ? std::string("&amp;") : c == '<' ? std::string("&lt;") : std::string(1, c);
  }
  return result;
}

// A bar for each row, as long as its images per second.
inline std::string bar_chart(const Report& report) {
  constexpr int kLabels = 260, kBars = 480, kNumbers = 160, kRow = 28, kTop = 36;
  double most = 0;
  for (const Row& row : report.rows) most = std::max(most, row.speed.images_per_s);
  const int height = kTop + kRow * static_cast<int>(report.rows.size()) + 8;
  std::string svg = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
      "font-size=\"14\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kLabels + kBars + kNumbers, height);
  svg += "<text x=\"10\" y=\"22\" font-weight=\"bold\">" + xml_escaped(report.title) + ": images per second</text>\n";
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    const int y = kTop + kRow * static_cast<int>(i);
    const double length = kBars * row.speed.images_per_s / most;
    svg += formatted("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", kLabels - 8, y + 18) + xml_escaped(row.title) +
           "</text>\n" +
           formatted("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#4878b0\"/>\n", kLabels, y + 3,
                     length, kRow - 6) +
           formatted("<text x=\"%.1f\" y=\"%d\">%.1f (%.2fx)</text>\n", kLabels + length + 6, y + 18,
                     row.speed.images_per_s, row.speed.images_per_s / report.rows.front().speed.images_per_s);
  }
  return svg + "</svg>\n";
}

// Writes ladder.md and ladder.svg into a folder that exists.
inline void write_report(const Report& report, const std::string& folder) {
  const std::filesystem::path out = folder;
  std::ofstream(out / "ladder.md") << markdown(report);
  std::ofstream(out / "ladder.svg") << bar_chart(report);
}
