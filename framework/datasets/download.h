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

/// Where data sets are kept: $KUSARI_DATASET_ROOT, else ~/.kusari/dataset. chainer.dataset.get_dataset_root.
KUSARI_API std::string dataset_root();

/// Path of file `name` ("mnist/train-images-idx3-ubyte.gz") below dataset_root(), downloaded from the first of `urls`
/// that has it unless it is there already. It appears whole and with the right SHA-256 or not at all; a lock keeps two
/// processes from downloading it at once. Throws IoError, naming every address, what went wrong there and where to put
/// the file by hand; also in a build without libcurl. chainer.dataset.cached_download.
KUSARI_API std::string cached_download(const std::vector<std::string>& urls, const std::string& name,
                                       const DownloadOptions& options = {});

}  // namespace kusari::datasets
