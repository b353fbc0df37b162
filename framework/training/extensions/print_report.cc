#include "kusari/framework/training/extensions/print_report.h"

#include <algorithm>

#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/extensions/terminal.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
namespace {

int width(const std::string& entry) { return static_cast<int>(std::max<size_t>(10, entry.size())); }

}  // namespace

PrintReport::PrintReport(std::vector<std::string> entries, PrintReportOptions options)
    : entries_{std::move(entries)}, options_{std::move(options)}, is_terminal_{is_terminal(options_.out)} {}

void PrintReport::operator()(Trainer& trainer) {
  if (!header_printed_) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      std::fprintf(options_.out, "%s%-*s", i == 0 ? "" : "  ", width(entries_[i]), entries_[i].c_str());
    }
    std::fputc('\n', options_.out);
    header_printed_ = true;
  }
  if (options_.own_log) (**options_.own_log)(trainer);
  const LogReport& report =
      options_.own_log ? **options_.own_log : trainer.get_extension<LogReport>(options_.log_report);
  for (; rows_printed_ < report.log().size(); ++rows_printed_) {
    if (is_terminal_) std::fputs(kEraseBelow, options_.out);  // what a progress bar left below
    print_row(report.log()[rows_printed_]);
  }
}

void PrintReport::finalize() {
  if (options_.own_log) (*options_.own_log)->finalize();
}

void PrintReport::print_row(const LogEntry& entry) const {
  for (const std::string& key : entries_) {
    if (const LogNumber* number = entry.find(key)) {
      std::fprintf(options_.out, "%-*g  ", width(key), number->value);
    } else {
      std::fprintf(options_.out, "%*s", width(key) + 2, "");
    }
  }
  std::fputc('\n', options_.out);
  std::fflush(options_.out);
}

void PrintReport::serialize(Serializer& serializer) {
  if (options_.own_log) (*options_.own_log)->serialize(*serializer.child("_log_report"));
}

}  // namespace kusari::training::extensions
