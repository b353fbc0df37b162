#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/log_report.h"

namespace kusari::training::extensions {

/// Finds names that were asked for and that no row of a log has, because they are misspelt.
class KUSARI_API UnseenKeys {
 public:
  explicit UnseenKeys(std::vector<std::string> wanted);

  void add_row(const LogEntry& row);
  /// Names that no row has had, which a row's name is similar to: "'main/los' (is 'main/loss' meant?)". None before
  /// there were rows enough for what is reported more seldom, and each once.
  std::vector<std::string> misspelt();
  /// When no more rows come: all that no row has had, and of which misspelt() has not told. Names below one of
  /// `reporters` ("validation") are left out while no row has a name below it: the reporter has not run yet.
  std::vector<std::string> missing(const std::vector<std::string>& reporters);

 private:
  std::vector<std::string> similar(const std::string& key) const;

  std::vector<std::string> unseen_;  // and not told of
  std::set<std::string> wanted_, seen_;
  size_t rows_ = 0;
};

}  // namespace kusari::training::extensions
