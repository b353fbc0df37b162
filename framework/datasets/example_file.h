#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

class ExampleFileDataset;

struct ExampleFileOptions {
  Keys keys = {};       ///< of the examples; the data set that reads the file has them
  bool resume = false;  ///< go on after the whole examples that a writer, which ended without close(), has left
};

/// Writes examples, of any dtypes and shapes, into one file, which ExampleFileDataset reads in any order. The file
/// appears under its name, complete and on the disk, with close(). Until then it is PATH.part: who is killed loses what
/// was not flushed, never what was written before, and can go on from it with `.resume = true`.
/// Throws IoError, naming the file, when it cannot be written, when another process is writing it, or when `resume`
/// finds a file with other keys. In place of chainer.datasets.PickleDatasetWriter.
class KUSARI_API ExampleFileWriter {
 public:
  explicit ExampleFileWriter(const std::string& path, const ExampleFileOptions& options = {});
  ExampleFileWriter(ExampleFileWriter&&) noexcept;
  ExampleFileWriter& operator=(ExampleFileWriter&&) noexcept;
  ~ExampleFileWriter();

  /// Appends an example. Throws ValueError for an undefined array, and, where there are keys, unless there is an array
  /// for each. StateError after close().
  void write(const Example& example);
  /// Gives what was written to the system, so that only a crash of the machine can lose it.
  void flush();
  /// Examples so far; those that `resume` found included.
  int64_t size() const noexcept;
  void close();

 private:
  friend KUSARI_API ExampleFileDataset cache_dataset(const std::string& path, const Dataset& dataset);
  struct State;
  ExampleFileWriter(const std::string& path, const std::string& part, const ExampleFileOptions& options);

  Owned<State> state_;
};

/// The examples of a file of ExampleFileWriter, read when they are asked for, by several threads or processes at once.
/// Only the places of the examples are kept in memory, 8 bytes each. Every example has a CRC-32, which is checked.
/// Throws IoError, which names the file, the byte and what was expected, for a file that is damaged or cut off.
/// In place of chainer.datasets.PickleDataset.
class KUSARI_API ExampleFileDataset final : public Dataset {
 public:
  explicit ExampleFileDataset(const std::string& path);

  int64_t size() const override;
  Example get(int64_t i) const override;
  Keys keys() const override;

 private:
  struct State;
  Shared<const State> state_;
};

/// The examples of `dataset` from the file `path`, where they are written first unless there is such a file: what is
/// slow to make is made once. The file knows nothing of the data set: remove it when that changes.
KUSARI_API ExampleFileDataset cache_dataset(const std::string& path, const Dataset& dataset);

}  // namespace kusari::datasets
