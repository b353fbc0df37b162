#include "kusari/framework/datasets/image/class_image_dataset.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {
namespace {

namespace fs = std::filesystem;

bool is_image_name(std::string_view name) {
  const size_t slash = name.rfind('/'), dot = name.rfind('.');
  const std::string_view base = name.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (dot == std::string_view::npos || base.starts_with("._")) return false;  // macOS keeps attributes in "._" files
  std::string extension(name.substr(dot));
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

/// Labels by class name, and the names by label.
struct Labels {
  std::vector<std::string> classes;
  Array labels;
};

/// class_of: the class of each example.
Labels label(const char* call, const std::vector<std::string>& class_of, const ClassImageDatasetOptions& options) {
  Labels result;
  result.classes = options.classes;
  if (result.classes.empty()) {
    const std::set<std::string> names(class_of.begin(), class_of.end());
    result.classes.assign(names.begin(), names.end());
  }
  std::map<std::string, int64_t> index;
  for (const std::string& name : result.classes) index.emplace(name, static_cast<int64_t>(index.size()));
  if (index.size() != result.classes.size()) throw ValueError(std::string(call) + ": options.classes has a name twice");
  std::vector<int64_t> labels;
  labels.reserve(class_of.size());
  for (const std::string& name : class_of) {
    const auto found = index.find(name);
    if (found == index.end()) {
      throw ValueError(std::string(call) + ": there are images of class '" + name + "', which options.classes lacks");
    }
    labels.push_back(found->second);
  }
  result.labels = array(labels).astype(options.label_dtype);
  return result;
}

}  // namespace

struct ImageFolderDataset::Found : Labels {
  Found(const std::string& root, const ClassImageDatasetOptions& options) {
    std::vector<std::pair<std::string, std::string>> files;  // class, path
    reading("ImageFolderDataset", root, [&] {
      for (const fs::directory_entry& folder : fs::directory_iterator(root)) {
        if (!folder.is_directory()) continue;
        const auto walk = fs::directory_options::follow_directory_symlink;
        for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder.path(), walk)) {
          const std::string path = file.path().string();
          if (is_image_name(path) && file.is_regular_file()) {
            files.emplace_back(folder.path().filename().string(), path);
          }
        }
      }
    });
    if (files.empty()) {
      throw ValueError("ImageFolderDataset: " + root +
                       " has no folders with .jpg, .jpeg or .png files: <class>/<name>.jpg is needed");
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> class_of;
    for (auto& [name, path] : files) {
      class_of.push_back(std::move(name));
      paths.push_back(std::move(path));
    }
    static_cast<Labels&>(*this) = label("ImageFolderDataset", class_of, options);
  }

  std::vector<std::string> paths;
};

ImageFolderDataset::ImageFolderDataset(Found found, const ClassImageDatasetOptions& options)
    : EncodedImageDataset(static_cast<int64_t>(found.paths.size()),
                          {options.dtype, options.decode, options.skip_broken, options.random_sized_crop},
                          found.labels),
      classes_{std::move(found.classes)},
      paths_{std::move(found.paths)} {}

ImageFolderDataset::ImageFolderDataset(const std::string& root, const ClassImageDatasetOptions& options)
    : ImageFolderDataset(Found(root, options), options) {}

std::string ImageFolderDataset::name(int64_t i) const {
  check_index("ImageFolderDataset::name", i, size());
  return paths_[static_cast<size_t>(i)];
}

std::span<const uint8_t> ImageFolderDataset::load(int64_t i, std::vector<uint8_t>& buffer) const {
  return read_whole("ImageFolderDataset", name(i), buffer);
}

struct TarImageDataset::Found : Labels {
  Found(const std::vector<std::string>& paths, const ClassImageDatasetOptions& options) {
    std::vector<std::string> class_of;
    for (const std::string& path : paths) {
      const TarArchive& shard = shards.emplace_back(path, options.in_memory);
      for (size_t i = 0; i < shard.entries().size(); ++i) {
        std::string_view name = shard.entries()[i].name;
        if (!is_image_name(name)) continue;
        while (name.starts_with("./")) name.remove_prefix(2);
        const size_t slash = name.find('/');
        if (slash == std::string_view::npos || slash == 0) {
          throw ValueError("TarImageDataset: " + path + " has '" + shard.entries()[i].name +
                           "': <class>/<name> is needed");
        }
        class_of.emplace_back(name.substr(0, slash));
        places.push_back({shards.size() - 1, i});
      }
    }
    if (places.empty()) {
      throw ValueError("TarImageDataset: the " + std::to_string(paths.size()) +
                       " archives have no .jpg, .jpeg or .png files" +
                       (paths.empty() ? "" : "; the first is " + paths[0]));
    }
    static_cast<Labels&>(*this) = label("TarImageDataset", class_of, options);
  }

  std::vector<TarArchive> shards;
  std::vector<Place> places;
};

TarImageDataset::TarImageDataset(Found found, const ClassImageDatasetOptions& options)
    : EncodedImageDataset(static_cast<int64_t>(found.places.size()),
                          {options.dtype, options.decode, options.skip_broken, options.random_sized_crop},
                          found.labels),
      classes_{std::move(found.classes)},
      shards_{std::move(found.shards)},
      places_{std::move(found.places)} {}

TarImageDataset::TarImageDataset(const std::vector<std::string>& shards, const ClassImageDatasetOptions& options)
    : TarImageDataset(Found(shards, options), options) {}

std::string TarImageDataset::name(int64_t i) const {
  check_index("TarImageDataset::name", i, size());
  const Place& place = places_[static_cast<size_t>(i)];
  const TarArchive& shard = shards_[place.shard];
  return shard.path() + ": entry '" + shard.entries()[place.entry].name + "'";
}

std::span<const uint8_t> TarImageDataset::load(int64_t i, std::vector<uint8_t>& buffer) const {
  const Place& place = places_[static_cast<size_t>(i)];
  return shards_[place.shard].read(place.entry, buffer);
}

}  // namespace kusari::datasets
