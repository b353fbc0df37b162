#include "kusari/framework/datasets/tar.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/shared_data.h"
#include "kusari/tests/skip.h"

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

Files read_all(const std::string& path) {
  Files files;
  TarReader reader(path);
  while (reader.next()) {
    std::vector<uint8_t> content;
    reader.read(content);
    CHECK(content.size() == reader.entry().size);
    files.emplace_back(reader.entry().name, as_string(content));
  }
  CHECK_FALSE(reader.next());
  return files;
}

Files read_archive(const std::string& path, bool in_memory) {
  Files files;
  const TarArchive archive(path, in_memory);
  std::vector<uint8_t> buffer;
  files.resize(archive.entries().size());
  for (size_t i = files.size(); i-- > 0;) {  // from the back: any order must do
    const auto content = archive.read(i, buffer);
    files[i] = {archive.entries()[i].name, std::string(content.begin(), content.end())};
  }
  return files;
}

std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

const std::string kGnuMagic = std::string("ustar  \0", 8);

}  // namespace

TEST_CASE("tar: names, kinds and sizes of entries, plain and gzipped") {
  const ScratchDirectory dir;
  const std::string long_name = "0/" + std::string(180, 'n') + ".jpg", content = "content", big(3000, 'b');
  std::string pax_size = tar_member("pax_size", "1234567");
  const std::string archive =
      tar_member("a.txt", content) + tar_member("folder/", "", '5') + tar_member("empty", "") +
      tar_member("name", big, '0', "some/prefix") + tar_member("@LongLink", long_name + '\0', 'L', "", kGnuMagic) +
      tar_member("short", content, '0', "", kGnuMagic) + tar_member("link", "", '2') +
      tar_member("PaxHeader", pax_record("mtime", "1.5") + pax_record("path", "pax/ü " + long_name), 'x') +
      tar_member("ignored", big) + tar_member("global", pax_record("path", "nothing"), 'g') +
      tar_member("contiguous", content, '7') + tar_member("old", content, '\0') + tar_member("fifo", "", '6') +
      tar_member("vendor", "skipped content", 'Z') + tar_member("last", big) + tar_end();
  const Files expected = {
      {"a.txt", content},          {"empty", ""},           {"some/prefix/name", big}, {long_name, content},
      {"pax/ü " + long_name, big}, {"contiguous", content}, {"old", content},          {"last", big}};
  write_file(dir / "a.tar", archive);
  write_file(dir / "a.tar.gz", gzip(archive));
  // gzip files may follow one another.
  write_file(dir / "two.tar.gz", gzip(archive.substr(0, 700)) + gzip(archive.substr(700)));
  for (const char* name : {"a.tar", "a.tar.gz", "two.tar.gz"}) {
    CAPTURE(name);
    CHECK(read_all(dir / name) == expected);
    CHECK(read_archive(dir / name, false) == expected);
    CHECK(read_archive(dir / name, true) == expected);
  }
  TarReader reader(dir / "a.tar");  // files whose content is not wanted
  int count = 0;
  while (reader.next()) ++count;
  CHECK(count == 8);
  CHECK_FALSE(reader.is_gzip());
  CHECK(TarReader(dir / "a.tar.gz").is_gzip());
}

TEST_CASE("tar: sizes from a pax header and in base 256") {
  const ScratchDirectory dir;
  std::string member = tar_member("large", "0123456789");
  // The header says 0; the pax header is right.
  std::string zero = tar_member("large", "");
  write_file(dir / "pax.tar",
             tar_member("PaxHeader", pax_record("size", "10"), 'x') + zero + member.substr(512) + tar_end());
  CHECK(read_all(dir / "pax.tar") == Files{{"large", "0123456789"}});
  // GNU: a byte 0x80 and a big-endian number.
  unsigned sum = 0;
  member.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\x0a", 12));
  member.replace(148, 8, 8, ' ');
  for (size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(member[i]);
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%06o", sum);
  member.replace(148, 6, digits);
  write_file(dir / "base256.tar", member + tar_end());
  CHECK(read_all(dir / "base256.tar") == Files{{"large", "0123456789"}});
}

TEST_CASE("tar: damaged archives give an error that names file and entry") {
  const ScratchDirectory dir;
  const std::string path = dir / "x.tar";
  const auto error_of = [&](const std::string& bytes) {
    write_file(path, bytes);
    try {
      read_all(path);
    } catch (const IoError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string good = tar_member("one", std::string(600, 'x')) + tar_member("two", "y") + tar_end();
  CHECK(error_of(good) == "no error");
  CHECK(error_of("") == "tar: " + path + " is cut off");
  CHECK(error_of(good.substr(0, good.size() - 1024)) == "tar: " + path + " is cut off: it ends in or after 'two'");
  CHECK(error_of(good.substr(0, 700)) == "tar: " + path + " is cut off or damaged: 'one' claims 600 bytes");
  CHECK(error_of(std::string(600, 'q')) == "tar: " + path +
                                               " is damaged, or no tar archive: the header at byte 0 has a wrong "
                                               "checksum");
  std::string flipped = good;
  flipped[1536 + 3] ^= 1;
  CHECK(error_of(flipped) ==
        "tar: " + path + " is damaged, or no tar archive: the header at byte 1536 has a wrong checksum");
  CHECK(error_of(tar_member("h", "99 path=x\n", 'x') + good) == "tar: " + path + " is damaged in a pax header");
  CHECK(error_of(tar_member("s", "", 'S') + good) == "tar: " + path + " has the sparse file 's': it cannot be read");
  CHECK(error_of(tar_member("l", std::string((1 << 20) + 1, 'n'), 'L') + good) ==
        "tar: " + path + " is damaged: it has an extended header of 1048577 bytes");
  const std::string zipped = gzip(good);
  CHECK(error_of(zipped.substr(0, zipped.size() - 9)) == "tar: " + path + " is cut off: its gzip data does not end");
  std::string bad_sum = zipped;
  bad_sum[zipped.size() - 6] ^= 1;  // the CRC-32 at the end
  CHECK(error_of(bad_sum) == "tar: " + path + " is damaged: incorrect data check");
  CHECK_THROWS_WITH_AS(TarReader("/nonexistent/a.tar"),
                       "tar: /nonexistent/a.tar cannot be opened: No such file or directory", IoError);
  CHECK_THROWS_AS(TarReader{dir.path()}, IoError);
  write_file(path, good);
  TarReader reader(path);
  std::vector<uint8_t> content;
  CHECK_THROWS_AS(reader.read(content), StateError);
  const TarArchive archive(path);
  CHECK_THROWS_WITH_AS(archive.read(2, content), "TarArchive::read: index 2 of 2 entries", IndexError);
}

TEST_CASE("tar: real archives" * doctest::test_suite("needs coco-mini")) {
  const std::string shard = shared_path("data/cifar10-jpeg/test-0000.tar.gz");
  const std::string coco = shared_path("data/coco-mini/coco-mini.tar");
  if (shard.empty() || coco.empty()) KUSARI_SKIP("no data/cifar10-jpeg, or no data/coco-mini");
  const TarArchive cifar(shard);
  CHECK(cifar.entries().size() == 10'000);
  std::vector<uint8_t> buffer;
  for (size_t i = 0; i < cifar.entries().size(); i += 999) {
    const auto content = cifar.read(i, buffer);
    CHECK(content.size() == cifar.entries()[i].size);
    CHECK(content[0] == 0xFF);
    CHECK(content[1] == 0xD8);
  }
  CHECK(TarArchive(coco).entries().size() >= 42);
}
