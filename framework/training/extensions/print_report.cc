#include "kusari/framework/training/extensions/print_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/python_repr.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/extensions/terminal.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
namespace {

size_t width(const std::string& entry) { return std::max<size_t>(10, entry.size()); }

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

/// All digits; nothing for what is not finite.
std::string exact(const LogNumber& number) {
  if (number.is_integer) return std::to_string(static_cast<int64_t>(number.value));
  return std::isfinite(number.value) ? python_repr(number.value) : "";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

PrintReport::PrintReport(std::vector<std::string> entries, PrintReportOptions options)
    : entries_{std::move(entries)},
      options_{std::move(options)},
      is_terminal_{is_terminal(options_.out)},
      unseen_{entries_} {
  argument::not_empty("PrintReport", "log_report", options_.log_report, "name the trainer's LogReport");
}

void PrintReport::print_header() const {
  std::string line, rule;
  for (const std::string& entry : entries_) {
    switch (options_.format) {
      case PrintFormat::columns:
        line += (line.empty() ? "" : "  ") + padded(entry, width(entry));
        break;
      case PrintFormat::markdown:
        line += (line.empty() ? "| " : " | ") + padded(entry, width(entry));
        rule += (rule.empty() ? "| " : " | ") + std::string(width(entry) - 1, '-') + ":";
        break;
      case PrintFormat::csv:
        line += (line.empty() ? "" : ",") + csv_field(entry);
    }
  }
  if (options_.format == PrintFormat::markdown) line += " |\n" + rule + " |";
  std::fprintf(options_.out, "%s\n", line.c_str());
}

void PrintReport::initialize(Trainer& trainer) {
  report(trainer);
  unseen_.begin(trainer);
}

const LogReport& PrintReport::report(Trainer& trainer) const {
  return options_.own_log ? **options_.own_log : trainer.get_extension<LogReport>(options_.log_report);
}

void PrintReport::operator()(Trainer& trainer) {
  if (!std::exchange(header_printed_, true)) print_header();
  if (options_.own_log) (**options_.own_log)(trainer);
  const LogReport& log_report = report(trainer);
  for (; rows_printed_ < log_report.log().size(); ++rows_printed_) {
    if (is_terminal_ && options_.format != PrintFormat::csv)
      std::fputs(kEraseBelow, options_.out);  // what a progress bar left below
    print_row(log_report.log()[rows_printed_]);
    unseen_.add(log_report.log()[rows_printed_]);
    unseen_.end_row();
  }
  unseen_.warn_of_misspelt("PrintReport: no row of the log has ");
}

void PrintReport::finalize() {
  if (options_.own_log) (*options_.own_log)->finalize();
  unseen_.warn_of_missing("PrintReport: no row of the log had ");
}

void PrintReport::print_row(const LogEntry& entry) const {
  std::string line;
  for (const std::string& key : entries_) {
    const LogNumber* number = entry.find(key);
    switch (options_.format) {
      case PrintFormat::columns:
        line += padded(number == nullptr ? "" : general_text(number->value), width(key)) + "  ";
        break;
      case PrintFormat::markdown:
        line +=
            (line.empty() ? "| " : " | ") + padded(number == nullptr ? "" : general_text(number->value), width(key));
        break;
      case PrintFormat::csv:
        line += (&key == entries_.data() ? "" : ",") + (number == nullptr ? "" : exact(*number));
    }
  }
  if (options_.format == PrintFormat::markdown) line += " |";
  std::fprintf(options_.out, "%s\n", line.c_str());
  std::fflush(options_.out);
}

void PrintReport::serialize(Serializer& serializer) {
  if (options_.own_log) (*options_.own_log)->serialize(*serializer.child("_log_report"));
}

}  // namespace kusari::training::extensions
