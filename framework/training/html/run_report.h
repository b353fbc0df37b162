#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/charts/line_chart.h"
#include "kusari/framework/training/extensions/log_report.h"

namespace kusari::training::html {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

enum class RunState : uint8_t { running, finished, failed };

/// A part of the page below the log: names with values, a table, preformatted text, or a picture.
struct Section {
  std::string title;
  NamedTexts values = {};
  std::vector<std::vector<std::string>> table = {};  ///< its first row is the header
  std::string text = {};                             ///< preformatted
  std::string svg = {};                              ///< stands in the page as it is
  bool is_folded = false;                            ///< what is long is shown on demand
};

/// What a report of a training run says.
struct RunReport {
  std::string title, subtitle;
  RunState state = RunState::running;
  std::string error = {};                         ///< of a run that failed
  std::optional<double> progress = std::nullopt;  ///< 0 to 1, where the length of the run is known
  NamedTexts tiles = {};                          ///< the numbers that are looked at first
  std::vector<charts::LineChart> charts = {};
  std::vector<extensions::LogEntry> log = {};
  std::vector<Section> sections = {};
  std::string footer = {};
  int reload_seconds = 0;  ///< the browser loads the page anew so often while the run goes on; 0: never
};

/// The report as one HTML file that needs no other file and no network.
KUSARI_API std::string to_html(const RunReport& report);

}  // namespace kusari::training::html
