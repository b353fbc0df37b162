#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/serializers/byte_source.h"

namespace kusari {
class AtomicFile;
}

namespace kusari::serializers {

/// How an entry of a zip archive is kept; the values are the format's own (APPNOTE.TXT, 4.4.5).
enum class ZipMethod : uint16_t { stored = 0, deflated = 8 };

/// One line of an archive's directory.
struct ZipEntry {
  std::string name;
  uint64_t size = 0;             // of the content, in bytes
  uint64_t compressed_size = 0;  // in the file
  uint64_t offset = 0;           // of the local header
  uint32_t crc = 0;              // CRC-32 of the content
  uint16_t method = 0;
  uint16_t flags = 0;
  uint32_t time = 0;  // of the last change, MS-DOS's time and date
};

class ZipReader;

/// The content of one entry, from its beginning to its end. Keeps the archive open.
class KUSARI_API ZipStream final : public ByteSource {
 public:
  ZipStream(ZipStream&&) noexcept;
  ZipStream& operator=(ZipStream&&) noexcept;
  ~ZipStream() override;

  /// Reading the last byte checks the length and the CRC-32 of the whole entry.
  void read(void* data, size_t size) override;
  uint64_t remaining() const noexcept override;
  std::string describe() const override;
  const ZipEntry& entry() const noexcept;

 private:
  friend class ZipReader;
  struct State;
  explicit ZipStream(std::unique_ptr<State> state);
  Owned<State> state_;
};

/// Reads zip archives: stored and deflated entries, zip64. The file may come from anywhere: whatever it holds, the
/// outcome is its content or an IoError that names the file, the entry and what is wrong, and memory stays within
/// 1032 times the file's size (deflate's best ratio). Entries that overlap or have the same name, a directory that says
/// something else than the entry itself, and bytes beside the directory are damage. Copies share the open file; several
/// threads may use it at once.
class KUSARI_API ZipReader {
 public:
  /// Opens the archive and reads its directory.
  explicit ZipReader(const std::string& path);

  const std::string& path() const noexcept;
  /// In the order of the directory.
  const std::vector<ZipEntry>& entries() const noexcept;
  /// nullptr when there is no such entry.
  const ZipEntry* find(std::string_view name) const;
  ZipStream open(const ZipEntry& entry) const;
  /// Compares all entries with the directory, as open() does with one.
  void check_headers() const;
  /// The whole content of an entry; throws KeyError when there is none of that name.
  std::string read(std::string_view name) const;

 private:
  friend class ZipStream;
  struct State;
  Shared<const State> state_;
};

/// Writes a zip archive into an AtomicFile. The same calls give the same bytes (every time stamp is 1980-01-01).
class KUSARI_API ZipWriter {
 public:
  /// level: of deflate, 1 (fast) .. 9 (small); 0 looks for runs of equal bytes alone, the right thing for numbers,
  /// in which other repetitions are rare. `file` must outlive the writer.
  explicit ZipWriter(AtomicFile& file, int level = 6);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  /// Starts an entry of `size` bytes; throws ValueError for a name that exists already.
  void begin(const std::string& name, uint64_t size, ZipMethod method = ZipMethod::deflated);
  /// The entry's next bytes.
  void write(const void* data, size_t size);
  /// Ends the entry; throws StateError unless exactly its size was written.
  void end();
  /// begin, write and end in one.
  void add(const std::string& name, std::string_view content, ZipMethod method = ZipMethod::deflated);
  /// Writes the directory; the archive is whole then, but the file is not yet committed.
  void finish();

 private:
  struct State;
  Owned<State> state_;
};

}  // namespace kusari::serializers
