#include "kusari/framework/datasets/image/cifar.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/download.h"
#include "kusari/framework/datasets/gzip.h"
#include "kusari/framework/datasets/reading.h"
#include "kusari/framework/datasets/tar.h"

namespace kusari::datasets {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = 32;
constexpr int64_t kPlane = kSide * kSide;
constexpr int64_t kImage = 3 * kPlane;

struct Source {
  const char* name;  // of the functions: get_<name>, read_<name>
  const char* folder;
  const char* archive;
  const char* sha256;
  int64_t label_bytes;  // before each image; the last is the label
  int classes;
  std::vector<std::string> train, test;

  int64_t record() const { return label_bytes + kImage; }
};

const Source& cifar10() {
  static const Source source{
      "cifar10",
      "cifar-10-batches-bin",
      "cifar-10-binary.tar.gz",
      "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
      1,
      10,
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      {"test_batch.bin"}};
  return source;
}

const Source& cifar100() {
  static const Source source{"cifar100",
                             "cifar-100-binary",
                             "cifar-100-binary.tar.gz",
                             "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                             2,
                             100,
                             {"train.bin"},
                             {"test.bin"}};
  return source;
}

/// A file's content and its name in messages.
struct Records {
  std::string name;
  std::string bytes;
};

void check(const std::string& call, const Source& source, const Records& records) {
  const auto fail = [&](const std::string& what) { throw IoError(call + ": " + records.name + " " + what); };
  const size_t record = static_cast<size_t>(source.record());
  if (records.bytes.empty() || records.bytes.size() % record != 0) {
    fail("has " + std::to_string(records.bytes.size()) + " bytes: records of " + std::to_string(record) +
         " bytes are needed (the file is cut off or of another kind)");
  }
  const size_t label_at = static_cast<size_t>(source.label_bytes - 1);
  for (size_t at = 0; at < records.bytes.size(); at += record) {
    const int label = static_cast<unsigned char>(records.bytes[at + label_at]);
    if (label >= source.classes) {
      fail("has label " + std::to_string(label) + " in record " + std::to_string(at / record) + ": labels are 0 .. " +
           std::to_string(source.classes - 1));
    }
  }
}

/// Writes the images of a file, one after the other, in the order in which they will lie in memory.
template <class T>
void convert(const Source& source, const std::string& bytes, bool planes, T scale, T* out) {
  const int64_t n = static_cast<int64_t>(bytes.size()) / source.record();
  constexpr int64_t kImagesPerThread = 256;
  parallel_for(n, kImagesPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto* in = reinterpret_cast<const uint8_t*>(bytes.data()) + i * source.record() + source.label_bytes;
      T* to = out + i * kImage;
      if (planes) {
        for (int64_t j = 0; j < kImage; ++j) to[j] = static_cast<T>(in[j] * scale);
        continue;
      }
      for (int64_t j = 0; j < kPlane; ++j) {
        for (int64_t c = 0; c < 3; ++c) to[3 * j + c] = static_cast<T>(in[c * kPlane + j] * scale);
      }
    }
  });
}

TupleDataset dataset(const std::string& call, const Source& source, const std::vector<Records>& files,
                     const CifarOptions& options) {
  int64_t n = 0;
  for (const Records& file : files) {
    check(call, source, file);
    n += static_cast<int64_t>(file.bytes.size()) / source.record();
  }
  const bool planes = options.ndim == 1;
  // 16-bit types are computed in float32.
  const Dtype computed =
      options.dtype == Dtype::uint8 || options.dtype == Dtype::float64 ? options.dtype : Dtype::float32;
  const Array images =
      planes ? empty({n, kImage}, computed) : empty_strided({n, 3, kSide, kSide}, {kImage, 1, 3 * kSide, 3}, computed);
  const Array labels = empty({n}, Dtype::int32);
  int64_t done = 0;
  for (const Records& file : files) {
    if (computed == Dtype::uint8) {
      convert<uint8_t>(source, file.bytes, planes, 1, images.data<uint8_t>() + done * kImage);
    } else if (computed == Dtype::float64) {
      convert<double>(source, file.bytes, planes, options.scale / 255, images.data<double>() + done * kImage);
    } else {
      const float scale = static_cast<float>(options.scale / 255);
      convert<float>(source, file.bytes, planes, scale, images.data<float>() + done * kImage);
    }
    const int64_t count = static_cast<int64_t>(file.bytes.size()) / source.record();
    for (int64_t i = 0; i < count; ++i, ++done) {
      const size_t at = static_cast<size_t>(i * source.record() + source.label_bytes - 1);
      labels.data<int32_t>()[done] = static_cast<unsigned char>(file.bytes[at]);
    }
  }
  const Array converted = images.astype(options.dtype);
  return options.with_label ? TupleDataset(converted, labels) : TupleDataset(converted);
}

/// The path of `name` in a folder, gzipped or not; "" when it is not there.
std::string find(const fs::path& folder, const std::string& name) {
  for (const std::string& candidate : {name, name + ".gz"}) {
    if (std::error_code unreadable; fs::exists(folder / candidate, unreadable)) return (folder / candidate).string();
  }
  return "";
}

/// The files of a folder that has them all. Empty when it has none; throws when it has some.
std::vector<Records> load_folder(const std::string& call, const fs::path& folder,
                                 const std::vector<std::string>& names) {
  std::vector<Records> files;
  std::string missing;
  for (const std::string& name : names) {
    if (const std::string path = find(folder, name); !path.empty()) {
      files.push_back({path, ""});
    } else if (missing.empty()) {
      missing = name;
    }
  }
  if (!missing.empty() && !files.empty()) {
    throw IoError(call + ": neither " + missing + " nor " + missing + ".gz is in the folder " + folder.string() +
                  ", which has " + files[0].name + " (read_" + call.substr(4) + " reads single files)");
  }
  for (Records& file : files) file.bytes = read_maybe_gzip(file.name);
  return files;
}

std::vector<Records> read_archive(const std::string& call, const std::string& path,
                                  const std::vector<std::string>& names) {
  std::vector<Records> files(names.size());
  TarReader tar(path);
  std::vector<uint8_t> content;
  while (tar.next()) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (fs::path(tar.entry().name).filename() != names[i]) continue;
      content.clear();
      tar.read(content);
      files[i] = {path + ": entry '" + tar.entry().name + "'", std::string(content.begin(), content.end())};
      break;
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (files[i].name.empty()) throw IoError(call + ": " + path + " has no " + names[i]);
  }
  return files;
}

std::vector<Records> load_archive(const std::string& call, const std::string& path,
                                  const std::vector<std::string>& names) {
  return reading(call, path, [&] { return read_archive(call, path, names); });
}

/// Training files, then test files.
std::vector<Records> load(const std::string& call, const Source& source, const std::string& root) {
  std::vector<std::string> names = source.train;
  names.insert(names.end(), source.test.begin(), source.test.end());
  std::vector<fs::path> roots;
  if (root.empty()) {
    roots.emplace_back(dataset_root());
    if (const char* home = std::getenv("HOME")) roots.push_back(fs::path(home) / ".kusari/dataset");
  } else {
    roots.emplace_back(root);
  }
  for (const fs::path& folder : roots) {
    for (const fs::path& place : {folder / source.folder, root.empty() ? fs::path() : folder}) {
      if (place.empty()) continue;
      if (std::vector<Records> files = load_folder(call, place, names); !files.empty()) return files;
    }
    std::error_code unreadable;  // as if it were not there
    if (fs::exists(folder / source.archive, unreadable)) {
      return load_archive(call, (folder / source.archive).string(), names);
    }
  }
  if (!root.empty()) {
    throw IoError(call + ": neither " + names[0] + " nor " + source.folder + " nor " + source.archive +
                  " is in the folder " + root);
  }
  const std::string url = std::string("https://www.cs.toronto.edu/~kriz/") + source.archive;
  return load_archive(call, cached_download({url}, source.archive, {.sha256 = source.sha256}), names);
}

void check_options(const std::string& call, const CifarOptions& options) {
  if (options.ndim != 1 && options.ndim != 3) {
    throw ValueError(call + ": ndim is " + std::to_string(options.ndim) + ": it must be 1 or 3");
  }
  if (!is_floating(options.dtype) && options.dtype != Dtype::uint8) {
    throw ValueError(call + ": dtype is " + std::string(name(options.dtype)) + ": it must be floating or uint8");
  }
}

TrainTest get(const Source& source, const CifarOptions& options) {
  const std::string call = std::string("get_") + source.name;
  check_options(call, options);
  std::vector<Records> files = load(call, source, options.root);
  const auto middle = files.begin() + static_cast<std::ptrdiff_t>(source.train.size());
  const std::vector<Records> test(std::make_move_iterator(middle), std::make_move_iterator(files.end()));
  files.erase(middle, files.end());
  return {dataset(call, source, files, options), dataset(call, source, test, options)};
}

TupleDataset read(const Source& source, const std::string& path, const CifarOptions& options) {
  const std::string call = std::string("read_") + source.name;
  check_options(call, options);
  return reading(call, path, [&] { return dataset(call, source, {{path, read_maybe_gzip(path)}}, options); });
}

}  // namespace

TrainTest get_cifar10(const CifarOptions& options) { return get(cifar10(), options); }
TrainTest get_cifar100(const CifarOptions& options) { return get(cifar100(), options); }
TupleDataset read_cifar10(const std::string& path, const CifarOptions& options) {
  return read(cifar10(), path, options);
}
TupleDataset read_cifar100(const std::string& path, const CifarOptions& options) {
  return read(cifar100(), path, options);
}

}  // namespace kusari::datasets
