#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

struct TextDatasetOptions {
  /// Which lines are examples: called once for each, with that line of every file.
  Callable<bool(std::span<const std::string_view> lines)> filter_func = {};
};

/// The lines of a text file, or the lines of the same number of several files side by side, such as sentences and their
/// translations. Example i has one component per file: the bytes of the line, without its end (`\n` or `\r\n`), as
/// text_array has them. Files are not kept in memory, only where their lines begin; lines are read when they are asked
/// for, by several threads or processes at once. Throws IoError for files that cannot be read, ValueError for files
/// with different numbers of lines. chainer.datasets.TextDataset.
class KUSARI_API TextDataset final : public Dataset {
 public:
  explicit TextDataset(const std::string& path, const TextDatasetOptions& options = {})
      : TextDataset(std::vector<std::string>{path}, options) {}
  explicit TextDataset(const std::vector<std::string>& paths, const TextDatasetOptions& options = {});
  explicit TextDataset(std::initializer_list<std::string> paths, const TextDatasetOptions& options = {})
      : TextDataset(std::vector<std::string>(paths), options) {}

  int64_t size() const override;
  Example get(int64_t i) const override;
  /// The line of example i in file number `file`.
  std::string line(int64_t i, size_t file = 0) const;
  /// Its place in the file, from 0: another one than i where lines were left out.
  int64_t line_number(int64_t i) const;

 private:
  struct State;
  Shared<const State> state_;
};

}  // namespace kusari::datasets
