#include <algorithm>
#include <cstdint>

#include "kusari/framework/core/number_text.h"
#include "kusari/framework/training/charts/markup.h"
#include "kusari/framework/training/charts/svg_chart.h"
#include "kusari/framework/training/html/html_assets.h"
#include "kusari/framework/training/html/log_summary.h"
#include "kusari/framework/training/html/run_report.h"

namespace kusari::training::html {
namespace {

using charts::escaped;
using extensions::LogNumber;

constexpr size_t kShownRows = 500;
constexpr size_t kShownCharts = 12;

const char* name(RunState state) {
  switch (state) {
    case RunState::finished:
      return "finished";
    case RunState::failed:
      return "failed";
    default:
      return "running";
  }
}

std::string heading(const std::string& title) { return "<h2>" + escaped(title) + "</h2>\n"; }

/// Text that may be broken after its slashes.
std::string breakable(const std::string& text) {
  std::string result;
  for (const char c : escaped(text)) result += c == '/' ? "/<wbr>" : std::string(1, c);
  return result;
}

std::string head(const RunReport& report) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n";
  if (report.reload_seconds > 0 && report.state == RunState::running) {
    html += "<meta http-equiv=\"refresh\" content=\"" + std::to_string(report.reload_seconds) + "\">\n";
  }
  return html + "<title>" + escaped(report.title) + "</title>\n<style>\n:root{" + charts::light_colors() + "}\n" +
         charts::kChartStyle + kPageStyle + "</style>\n</head>\n<body>\n<main>\n";
}

std::string summary(const RunReport& report) {
  const std::string state = name(report.state);
  std::string html = "<header><h1>" + escaped(report.title) + "</h1><span class=\"state " + state + "\">" + state +
                     "</span><div class=\"subtitle\">" + escaped(report.subtitle) + "</div></header>\n";
  if (!report.error.empty()) html += "<div class=\"error\">" + escaped(report.error) + "</div>\n";
  if (report.progress) {
    const std::string percent = fixed_text(100 * std::clamp(*report.progress, 0.0, 1.0), 1) + "%";
    html += "<div class=\"progress\"><div class=\"bar\"><div class=\"" + state + "\" style=\"width:" + percent +
            "\"></div></div>" + percent + "</div>\n";
  }
  html += "<dl class=\"tiles\">\n";
  for (const auto& [label, value] : report.tiles) {
    const size_t line = value.find('\n');  // what follows is said in small print
    html += "<div><dt>" + breakable(label) + "</dt><dd>" + escaped(value.substr(0, line)) +
            (line == std::string::npos ? "" : " <small>" + escaped(value.substr(line + 1)) + "</small>") +
            "</dd></div>\n";
  }
  return html + "</dl>\n";
}

std::string curves(const RunReport& report) {
  if (report.charts.empty()) return "";
  std::string html = heading("Curves") + "<div class=\"charts\">\n";
  for (size_t i = 0; i < report.charts.size(); ++i) {
    if (i == kShownCharts) {
      html += "</div>\n<details><summary>" + std::to_string(report.charts.size() - i) +
              " more charts</summary>\n<div class=\"charts\">\n";
    }
    html += "<div class=\"card\">" + charts::to_svg(report.charts[i]) + "</div>\n";
  }
  return html + "</div>\n" + (report.charts.size() > kShownCharts ? "</details>\n" : "");
}

std::string log_table(const Log& log) {
  if (log.empty()) return "";
  const LogTable table(log);
  std::string html = heading("Log") + "<div class=\"card scroll log\">\n<table>\n<thead><tr>";
  std::vector<size_t> best;
  for (const std::string& name : table.names()) {
    html += "<th>" + escaped(name) + "</th>";
    best.push_back(table.best_row(name));
  }
  html += "</tr></thead>\n<tbody>\n";
  const size_t first = log.size() - std::min(log.size(), kShownRows);
  for (size_t row = first; row < log.size(); ++row) {
    html += "<tr>";
    for (size_t i = 0; i < best.size(); ++i) {
      const LogNumber* number = table.column(i)[row];
      html += std::string(best[i] == row ? "<td class=\"best\">" : "<td>") +
              (number == nullptr ? "" : escaped(short_number(*number))) + "</td>";
    }
    html += "</tr>\n";
  }
  html += "</tbody>\n</table>\n</div>\n";
  if (first > 0) {
    html += "<p class=\"note\">The last " + std::to_string(kShownRows) + " of " +
            grouped_text(static_cast<int64_t>(log.size())) + " rows.</p>\n";
  }
  return html;
}

std::string section(const Section& section) {
  std::string body;
  if (!section.values.empty()) {
    body += "<dl class=\"values\">\n";
    for (const auto& [label, value] : section.values) {
      body += "<dt>" + escaped(label) + "</dt><dd>" + escaped(value) + "</dd>\n";
    }
    body += "</dl>\n";
  }
  if (!section.table.empty()) {
    body += "<table class=\"plain\">\n";
    for (size_t row = 0; row < section.table.size(); ++row) {
      const std::string cell = row == 0 ? "th" : "td";
      body += "<tr>";
      for (const std::string& text : section.table[row]) body += "<" + cell + ">" + escaped(text) + "</" + cell + ">";
      body += "</tr>\n";
    }
    body += "</table>\n";
  }
  if (!section.svg.empty()) body += "<div class=\"graph\">" + section.svg + "</div>\n";
  if (!section.text.empty()) {
    const std::string text = "<pre>" + escaped(section.text) + "</pre>";
    body += section.is_folded ? "<details><summary>" + std::string(section.svg.empty() ? "Show" : "As text") +
                                    "</summary>" + text + "</details>\n"
                              : text + "\n";
  }
  const std::string kind = section.table.empty() ? "card" : "card scroll";
  return "<section>" + heading(section.title) + "<div class=\"" + kind + "\">\n" + body + "</div></section>\n";
}

}  // namespace

std::string to_html(const RunReport& report) {
  std::string html = head(report) + summary(report) + curves(report) + log_table(report.log);
  std::string narrow, wide;
  for (const Section& part : report.sections) (part.svg.empty() ? narrow : wide) += section(part);
  html += "<div class=\"columns\">\n" + narrow + "</div>\n" + wide;
  return html + "<footer>" + escaped(report.footer) + "</footer>\n</main>\n<script>" + kPageScript +
         "</script>\n</body>\n</html>\n";
}

}  // namespace kusari::training::html
