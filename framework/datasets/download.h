#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari::datasets {

struct DownloadOptions {
  std::string sha256 = {};                      ///< what the file must have, in hexadecimal; "" accepts any file
  bool gzip = false;                            ///< sha256 is that of the decompressed content
  int attempts = 2;                             ///< per address, when a transfer breaks off
  int connect_timeout = 5;                      ///< seconds
  int stall_timeout = 30;                       ///< seconds without progress
  std::optional<bool> progress = std::nullopt;  ///< show it on stderr; by default when that is a terminal
};

/// Where data sets are kept: the folder that set_dataset_root() gave, else $KUSARI_DATASET_ROOT, else
/// ~/.kusari/dataset. chainer.dataset.get_dataset_root.
KUSARI_API std::string dataset_root();
/// For this process; "" goes back to the environment. chainer.dataset.set_dataset_root.
KUSARI_API void set_dataset_root(const std::string& path);
/// The folder `name` below it, which is created unless told otherwise. Throws IoError where that fails.
/// chainer.dataset.get_dataset_directory.
KUSARI_API std::string get_dataset_directory(const std::string& name, bool create_directory = true);

/// Path of file `name` ("mnist/train-images-idx3-ubyte.gz") below dataset_root(), downloaded from the first of `urls`
/// that has it unless it is there already. It appears whole and with the right SHA-256 or not at all; a lock keeps two
/// processes from downloading it at once. Throws IoError, naming every address, what went wrong there and where to put
/// the file by hand; also in a build without libcurl. chainer.dataset.cached_download.
KUSARI_API std::string cached_download(const std::vector<std::string>& urls, const std::string& name,
                                       const DownloadOptions& options = {});

/// A file of a public data set.
struct DatasetFile {
  std::string folder;              ///< below dataset_root()
  std::vector<std::string> names;  ///< it may have in a folder; it is downloaded under the first
  std::vector<std::string> urls;
  DownloadOptions download = {};
};

/// The path of a file: in `root`, if that is given, else in its folder below dataset_root() or ~/.kusari/dataset, else
/// downloaded. Throws IoError, which begins with `call`, when `root` has none of the names; as cached_download does.
KUSARI_API std::string find_dataset_file(const std::string& call, const DatasetFile& file, const std::string& root);

}  // namespace kusari::datasets
