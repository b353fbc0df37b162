#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/unseen_keys.h"

namespace kusari::training::extensions {

/// How PrintReport prints: Chainer's columns, a table for Markdown, or comma-separated values (RFC 4180) with all
/// digits and without escape sequences, for programs and quiet terminals.
enum class PrintFormat : uint8_t { columns, markdown, csv };

struct PrintReportOptions {
  std::string log_report = "LogReport";                  ///< name of the trainer's LogReport
  std::optional<Ref<LogReport>> own_log = std::nullopt;  ///< one that this extension runs itself, instead
  std::FILE* out = stdout;
  PrintFormat format = PrintFormat::columns;
};

/// Prints values of each new row of a LogReport in columns, under a header with their names. After a resume, the rows
/// of the interrupted run come first. Escape sequences are printed to terminals only. Warns once of a value that no row
/// has, and names those that it may be a misspelling of: after some rows, or when the run ends.
/// Throws ValueError when the run begins and the trainer has no such LogReport.
/// chainer.training.extensions.PrintReport.
class KUSARI_API PrintReport final : public Extension {
 public:
  explicit PrintReport(std::vector<std::string> entries, PrintReportOptions options = {});

  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "PrintReport"; }
  void serialize(Serializer& serializer) override;

 private:
  const LogReport& report(Trainer& trainer) const;
  void print_header() const;
  void print_row(const LogEntry& entry) const;

  std::vector<std::string> entries_;
  PrintReportOptions options_;
  bool is_terminal_;
  bool header_printed_ = false;
  size_t rows_printed_ = 0;
  UnseenKeys unseen_;
};

}  // namespace kusari::training::extensions
