#include "kusari/framework/datasets/download.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#ifdef KUSARI_WITH_CURL
#include <curl/curl.h>
#endif

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/gzip.h"
#include "kusari/framework/datasets/sha256.h"

namespace kusari::datasets {
namespace {

namespace fs = std::filesystem;

std::mutex g_root_mutex;
std::string g_root;  // of set_dataset_root

/// Held while a file is downloaded; freed by the system when the process dies.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : fd_{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)} {
    if (fd_ < 0) throw IoError("cached_download: cannot create " + path + ": " + std::strerror(errno));
    while (::flock(fd_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      ::close(fd_);
      throw IoError("cached_download: cannot lock " + path + ": " + std::strerror(error));
    }
  }
  ~FileLock() { ::close(fd_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

#ifdef KUSARI_WITH_CURL

struct Progress {
  std::string name;
  bool shown = false;
  int percent = -1;
};

int show_progress(void* context, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  Progress& p = *static_cast<Progress*>(context);
  const int percent = total > 0 ? static_cast<int>(100 * now / total) : 0;
  if (p.shown && total > 0 && percent != p.percent) {
    p.percent = percent;
    std::fprintf(stderr, "\r%s: %3d %% of %.1f MB", p.name.c_str(), percent, static_cast<double>(total) / 1e6);
  }
  return 0;
}

/// Fetches `url` into `path`; returns "" or what went wrong, and whether another attempt may help.
std::string fetch(const std::string& url, const std::string& path, const std::string& name,
                  const DownloadOptions& options, bool* may_retry) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  *may_retry = false;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return "cannot write " + path + ": " + std::strerror(errno);
  CURL* curl = curl_easy_init();
  if (!curl) {
    std::fclose(file);
    return "libcurl does not start";
  }
  char reason[CURL_ERROR_SIZE] = "";
  Progress progress{name, options.progress.value_or(::isatty(STDERR_FILENO) != 0)};
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, file);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_timeout));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 100L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout));
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, show_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &progress);
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_cleanup(curl);
  if (progress.percent >= 0) std::fputc('\n', stderr);
  const bool written = std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
  const int error = errno;
  if (std::fclose(file) != 0 || !written) return "cannot write " + path + ": " + std::strerror(error);
  if (code == CURLE_OK) return "";
  std::error_code unreadable;
  const auto size = fs::file_size(path, unreadable);
  *may_retry = code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
               (code == CURLE_OPERATION_TIMEDOUT && !unreadable && size > 0);
  return reason[0] != '\0' ? reason : curl_easy_strerror(code);
}

#else

std::string fetch(const std::string&, const std::string&, const std::string&, const DownloadOptions&, bool* may_retry) {
  *may_retry = false;
  return "this build has no libcurl (CMake option KUSARI_CURL)";
}

#endif

std::string sha256_of(const std::string& path, bool gzip) {
  Sha256 hash;
  if (gzip) {
    hash.update(read_maybe_gzip(path));
    return hash.hex_digest();
  }
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) throw IoError("cached_download: cannot read " + path + ": " + std::strerror(errno));
  char buffer[1 << 16];
  while (const size_t n = std::fread(buffer, 1, sizeof(buffer), file)) hash.update(buffer, n);
  std::fclose(file);
  return hash.hex_digest();
}

/// "" when the file is as it must be.
std::string check(const std::string& path, const DownloadOptions& options) {
  if (options.sha256.empty()) return "";
  try {
    const std::string found = sha256_of(path, options.gzip);
    return found == options.sha256 ? "" : "its SHA-256 is " + found + ", not " + options.sha256;
  } catch (const IoError& error) {
    return error.what();
  }
}

}  // namespace

std::string dataset_root() {
  {
    const std::lock_guard lock(g_root_mutex);
    if (!g_root.empty()) return g_root;
  }
  if (const char* root = environment::value("KUSARI_DATASET_ROOT")) return root;
  const char* home = std::getenv("HOME");
  if (!home || !*home) throw IoError("dataset_root: neither KUSARI_DATASET_ROOT nor HOME is set");
  return (fs::path(home) / ".kusari" / "dataset").string();
}

void set_dataset_root(const std::string& path) {
  const std::lock_guard lock(g_root_mutex);
  g_root = path;
}

std::string get_dataset_directory(const std::string& name, bool create_directory) {
  const fs::path path = fs::path(dataset_root()) / name;
  std::error_code error;
  if (create_directory) fs::create_directories(path, error);
  if (error) throw IoError("get_dataset_directory: cannot create " + path.string() + ": " + error.message());
  return path.string();
}

std::string find_dataset_file(const std::string& call, const DatasetFile& file, const std::string& root) {
  std::vector<fs::path> folders;
  if (root.empty()) {
    folders.push_back(fs::path(dataset_root()) / file.folder);
    if (const char* home = std::getenv("HOME")) folders.push_back(fs::path(home) / ".kusari/dataset" / file.folder);
  } else {
    folders.emplace_back(root);
  }
  std::error_code unreadable;  // as if it were not there
  for (const fs::path& folder : folders) {
    for (const std::string& name : file.names) {
      if (fs::exists(folder / name, unreadable)) return (folder / name).string();
    }
  }
  if (root.empty()) return cached_download(file.urls, file.folder + "/" + file.names.front(), file.download);
  std::string names;
  for (const std::string& name : file.names) names += (names.empty() ? "" : " nor ") + name;
  throw IoError(call + ": " + (file.names.size() > 1 ? "neither " : "no ") + names + " is in the folder " + root);
}

std::string cached_download(const std::vector<std::string>& urls, const std::string& name,
                            const DownloadOptions& options) {
  const fs::path path = fs::path(dataset_root()) / name;
  std::error_code error, unreadable;  // unreadable: as if it were not there
  if (fs::exists(path, unreadable)) return path.string();
  fs::create_directories(path.parent_path(), error);
  if (error) throw IoError("cached_download: cannot create " + path.parent_path().string() + ": " + error.message());
  const FileLock lock((path.parent_path() / ".lock").string());
  if (fs::exists(path, unreadable)) return path.string();  // another process had the lock and has finished

  const std::string part = path.string() + ".part";
  std::string reasons;
  for (const std::string& url : urls) {
    for (int attempt = 0; attempt < options.attempts; ++attempt) {
      bool may_retry = false;
      std::string reason = fetch(url, part, name, options, &may_retry);
      if (reason.empty()) {
        reason = check(part, options);
        if (reason.empty()) fs::rename(part, path, error);
        if (reason.empty() && !error) return path.string();
        if (error) reason = "cannot rename " + part + ": " + error.message();
      }
      fs::remove(part, error);
      reasons += "\n  " + url + ": " + reason;
      if (!may_retry) break;
    }
  }
  throw IoError("cached_download: cannot get " + name + reasons + "\nWithout a network, put the file at " +
                path.string() + (options.sha256.empty() ? "" : " (SHA-256 of its content: " + options.sha256 + ")") +
                ", or name the folder of your data sets in KUSARI_DATASET_ROOT.");
}

}  // namespace kusari::datasets
