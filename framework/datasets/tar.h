#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shared.h"

namespace kusari::datasets {

/// A regular file in a tar archive.
struct TarEntry {
  std::string name;
  uint64_t size = 0;    // of the content, in bytes
  uint64_t offset = 0;  // of the content in the archive, when that is decompressed
};

/// Reads a tar archive, gzipped or not, from front to back: USTAR, GNU long names, pax headers. The file may come from
/// anywhere: whatever it holds, the outcome is its content or an IoError that names the file, the entry and what is
/// wrong. An archive without the zero blocks at its end is cut off.
class KUSARI_API TarReader {
 public:
  explicit TarReader(const std::string& path);
  TarReader(TarReader&&) noexcept;
  TarReader& operator=(TarReader&&) noexcept;
  ~TarReader();

  /// Goes to the next regular file; folders, links and devices are passed over. False at the end of the archive.
  bool next();
  /// The file that next() went to.
  const TarEntry& entry() const noexcept;
  /// Appends the content of that file; once.
  void read(std::vector<uint8_t>& out);
  /// Whether the archive is compressed.
  bool is_gzip() const noexcept;

 private:
  struct State;
  Owned<State> state_;
};

/// The regular files of a tar archive, in any order. Of a plain archive the places are kept and files are read when
/// asked for; a gzipped one is decompressed once and its files stay in memory. Copies share both; several threads may
/// use one at once. Throws IoError as TarReader does.
class KUSARI_API TarArchive {
 public:
  /// in_memory: keeps the files of a plain archive in memory too.
  explicit TarArchive(const std::string& path, bool in_memory = false);

  const std::string& path() const noexcept;
  const std::vector<TarEntry>& entries() const noexcept;
  /// Content of entry i: in memory that lives as long as the archive, or in `buffer`.
  std::span<const uint8_t> read(size_t i, std::vector<uint8_t>& buffer) const;

 private:
  struct State;
  Shared<const State> state_;
};

}  // namespace kusari::datasets
