#include "kusari/framework/serializers/hdf5.h"

#include "kusari/framework/core/error.h"

#ifdef KUSARI_WITH_HDF5

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include <hdf5.h>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/serializers/entries_read.h"

namespace kusari::serializers {
namespace {

constexpr int kMaxDepth = 64;              // of groups
constexpr size_t kMaxObjects = 1'000'000;  // in a file
constexpr size_t kChunkBytes = size_t{1} << 20;

std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Entry to the library: waits for other threads, and keeps it from printing its errors.
class Hdf5Session {
 public:
  Hdf5Session() : lock_{hdf5_mutex()} {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  Hdf5Session(const Hdf5Session&) = delete;
  Hdf5Session& operator=(const Hdf5Session&) = delete;
  ~Hdf5Session() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  std::scoped_lock<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// What went wrong last, in the library's words.
std::string hdf5_error() {
  std::string text;
  const auto note = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    if (error->desc != nullptr && *error->desc != '\0') *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note, &text);
  return text.empty() ? "libhdf5 gives no reason" : text;
}

/// An identifier of the library, which closes itself; negative ones are failures.
template <herr_t (*kClose)(hid_t)>
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(hid_t id) noexcept : id_{id} {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_{std::exchange(other.id_, -1)} {}
  Hdf5Handle& operator=(Hdf5Handle other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Hdf5Handle() {
    if (id_ >= 0) kClose(id_);
  }
  explicit operator bool() const noexcept { return id_ >= 0; }
  operator hid_t() const noexcept { return id_; }

 private:
  hid_t id_ = -1;
};
using H5File = Hdf5Handle<H5Fclose>;
using H5Object = Hdf5Handle<H5Oclose>;
using H5Data = Hdf5Handle<H5Dclose>;
using H5Type = Hdf5Handle<H5Tclose>;
using H5Space = Hdf5Handle<H5Sclose>;
using H5Properties = Hdf5Handle<H5Pclose>;

/// A float of 16 bits: 1 for the sign, `exponent` bits, and the rest.
H5Type half_type(int exponent, size_t bias) {
  H5Type type(H5Tcopy(H5T_NATIVE_FLOAT));
  const auto mantissa = static_cast<size_t>(15 - exponent);
  H5Tset_fields(type, 15, mantissa, static_cast<size_t>(exponent), 0, mantissa);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, bias);
  return type;
}

/// As h5py has bool.
H5Type bool_type() {
  H5Type type(H5Tenum_create(H5T_NATIVE_INT8));
  for (int8_t value : {int8_t{0}, int8_t{1}}) H5Tenum_insert(type, value != 0 ? "TRUE" : "FALSE", &value);
  return type;
}

H5Type memory_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return bool_type();
    case Dtype::uint8:
      return H5Type(H5Tcopy(H5T_NATIVE_UINT8));
    case Dtype::int8:
      return H5Type(H5Tcopy(H5T_NATIVE_INT8));
    case Dtype::int32:
      return H5Type(H5Tcopy(H5T_NATIVE_INT32));
    case Dtype::int64:
      return H5Type(H5Tcopy(H5T_NATIVE_INT64));
    case Dtype::float16:
      return half_type(5, 15);
    case Dtype::bfloat16:
      return half_type(8, 127);
    case Dtype::float32:
      return H5Type(H5Tcopy(H5T_NATIVE_FLOAT));
    default:
      return H5Type(H5Tcopy(H5T_NATIVE_DOUBLE));
  }
}

bool is_bool(hid_t type) {
  if (H5Tget_nmembers(type) != 2) return false;
  for (unsigned i = 0; i < 2; ++i) {
    char* const name = H5Tget_member_name(type, i);
    const bool matches = name != nullptr && std::strcmp(name, i == 0 ? "FALSE" : "TRUE") == 0;
    H5free_memory(name);
    int8_t value = -1;
    if (!matches || H5Tget_size(type) != 1 || H5Tget_member_value(type, i, &value) < 0 || value != int(i)) return false;
  }
  return true;
}

/// The dtype that holds all values of a type of a file; false when there is none.
bool dtype_of(hid_t type, Dtype& dtype) {
  const size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: {
      const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
      if (size == 1) return dtype = is_signed ? Dtype::int8 : Dtype::uint8, true;
      if (size > 8) return false;
      return dtype = size < 4 || (size == 4 && is_signed) ? Dtype::int32 : Dtype::int64, true;
    }
    case H5T_FLOAT: {
      size_t sign = 0, exponent_at = 0, exponent = 0, mantissa_at = 0, mantissa = 0;
      H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa);
      if (size == 2 && exponent == 5) return dtype = Dtype::float16, true;
      if (size == 2 && exponent == 8) return dtype = Dtype::bfloat16, true;
      if (size == 4) return dtype = Dtype::float32, true;
      return dtype = Dtype::float64, size == 8;
    }
    case H5T_ENUM:
      return dtype = Dtype::bool_, is_bool(type);
    default:
      return false;
  }
}

/// "l1/W" of "/l1//W/".
std::string clean_key(const std::string& key) {
  std::string clean;
  for (const char c : key) {
    if (c != '/' || (!clean.empty() && clean.back() != '/')) clean += c;
  }
  if (!clean.empty() && clean.back() == '/') clean.pop_back();
  return clean;
}

/// Links to other files are not followed.
herr_t refuse_external_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

H5Properties hard_links() {
  H5Properties access(H5Pcreate(H5P_LINK_ACCESS));
  H5Pset_elink_cb(access, refuse_external_link, nullptr);
  return access;
}

class Hdf5Writer {
 public:
  Hdf5Writer(const std::string& path, const SaveHdf5Options& options) : path_{path}, options_{options} {
    const H5Properties access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fapl_core(access, kChunkBytes, false);
    const H5Properties creation(H5Pcreate(H5P_FILE_CREATE));
    file_ = H5File(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access));
    if (!file_) fail("the file");
    groups_ = H5Properties(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(groups_, 1);
    H5Pset_char_encoding(groups_, H5T_CSET_UTF8);
  }

  void add(const std::string& key, const Entry& entry) {
    if (entry.is_text) return add_text(key, entry.text);
    if (!entry.array.is_defined()) {
      const H5Space null(H5Screate(H5S_NULL));
      create(key, H5T_IEEE_F32LE, null, H5P_DEFAULT);
      return;
    }
    const Array host = entry.array.to_device(Device()).contiguous();
    std::vector<hsize_t> sizes(host.shape().begin(), host.shape().end());
    const H5Space space(sizes.empty() ? H5Screate(H5S_SCALAR)
                                      : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr));
    const H5Type type = memory_type(host.dtype());
    const H5Data data = create(key, type, space, host.size() > 1 ? compressed(sizes, host) : H5Properties());
    if (host.size() > 0 && H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, host.raw_data()) < 0) fail(key);
  }

  void commit() {
    if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail("the file");
    const ssize_t size = H5Fget_file_image(file_, nullptr, 0);
    if (size < 0) fail("the file");
    std::vector<char> image(static_cast<size_t>(size));
    if (H5Fget_file_image(file_, image.data(), image.size()) != size) fail("the file");
    AtomicFile out(path_);
    out.write(image.data(), image.size());
    out.commit();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("save_hdf5: " + path_ + ": " + what + " cannot be written: " + hdf5_error());
  }

  H5Data create(const std::string& key, hid_t type, hid_t space, hid_t properties) const {
    const std::string place = "/" + clean_key(key);
    H5Data data(
        H5Dcreate2(file_, place.c_str(), type, space, groups_, properties < 0 ? H5P_DEFAULT : properties, H5P_DEFAULT));
    if (!data) {
      throw ValueError("save_hdf5: '" + key + "' cannot be an entry of " + path_ +
                       ": it is there already, or is or lies in another: " + hdf5_error());
    }
    return data;
  }

  void add_text(const std::string& key, const std::string& text) const {
    const H5Space space(H5Screate(H5S_SCALAR));
    const H5Type type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type, std::max<size_t>(text.size(), 1));
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const H5Data data = create(key, type, space, H5P_DEFAULT);
    const std::string padded = text.empty() ? std::string(1, '\0') : text;
    if (H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()) < 0) fail(key);
  }

  /// Chunks of at most kChunkBytes, cut along the first axes.
  H5Properties compressed(std::vector<hsize_t> chunk, const Array& host) const {
    if (options_.compression == 0) return {};
    auto bytes = static_cast<size_t>(host.nbytes());
    for (hsize_t& size : chunk) {
      if (bytes <= kChunkBytes) break;
      const size_t row = bytes / size;
      size = std::max<hsize_t>(1, kChunkBytes / std::max<size_t>(row, 1));
      bytes = row * size;
    }
    H5Properties properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_deflate(properties, static_cast<unsigned>(options_.compression));
    return properties;
  }

  std::string path_;
  SaveHdf5Options options_;
  H5File file_;
  H5Properties groups_;
};

}  // namespace

bool has_hdf5() noexcept { return true; }

struct Hdf5Reader::State {
  explicit State(const std::string& file_path) : path{file_path} {
    const InputFile readable("load_hdf5", path);  // says why, when it is not
    const Hdf5Session session;
    file = H5File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    if (!file) throw IoError("load_hdf5: " + path + " is no HDF5 file, or is damaged: " + hdf5_error());
    const H5Object root(H5Oopen(file, "/", H5P_DEFAULT));
    size_t objects = 0;
    list(root, "", 0, objects);
  }
  ~State() {
    const Hdf5Session session;
    file = H5File();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw IoError("load_hdf5: " + path + ": entry '" + key + "' " + what);
  }

  void list(hid_t group, const std::string& prefix, int depth, size_t& objects) {
    H5G_info_t info;
    if (H5Gget_info(group, &info) < 0) throw IoError("load_hdf5: " + path + " is damaged: " + hdf5_error());
    const H5Properties access = hard_links();
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      if (depth > kMaxDepth || ++objects > kMaxObjects) {
        throw IoError("load_hdf5: " + path + " has groups in groups without end");
      }
      const auto name_of = [&](char* out, size_t size) {
        return H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, out, size, H5P_DEFAULT);
      };
      const ssize_t length = name_of(nullptr, 0);
      if (length < 0) throw IoError("load_hdf5: " + path + " is damaged: " + hdf5_error());
      std::string name(static_cast<size_t>(length) + 1, '\0');
      name_of(name.data(), name.size());
      name.pop_back();
      const std::string key = prefix + name;
      const H5Object object(H5Oopen(group, name.c_str(), access));
      if (!object) fail(key, "cannot be opened: " + hdf5_error());
      const H5I_type_t kind = H5Iget_type(object);
      if (kind == H5I_DATASET) {
        keys.push_back(key);
      } else if (kind == H5I_GROUP) {
        list(object, key + "/", depth + 1, objects);
      }
    }
  }

  Entry read(const std::string& key) const {
    const H5Properties access = hard_links();
    const H5Object data(H5Oopen(file, key.c_str(), access));
    if (!data) fail(key, "cannot be opened: " + hdf5_error());
    const H5Space space(H5Dget_space(data));
    const H5Type type(H5Dget_type(data));
    const H5Properties properties(H5Dget_create_plist(data));
    if (!space || !type || !properties) fail(key, "is damaged: " + hdf5_error());
    if (H5Pget_external_count(properties) > 0 || H5Pget_layout(properties) == H5D_VIRTUAL) {
      fail(key, "has its values in other files");
    }
    if (H5Sget_simple_extent_type(space) == H5S_NULL) return {};
    if (H5Tget_class(type) == H5T_STRING) return read_text(key, data, space, type);
    Dtype dtype = Dtype::float32;
    if (!dtype_of(type, dtype)) fail(key, "is of a type that no array has: integers, floats and bool of h5py are read");
    return {read_array(key, data, space, type, dtype)};
  }

  Array read_array(const std::string& key, hid_t data, hid_t space, hid_t type, Dtype dtype) const {
    const int ndim = H5Sget_simple_extent_ndims(space);
    if (ndim < 0 || ndim > kMaxNdim) fail(key, "has more than " + std::to_string(kMaxNdim) + " axes");
    std::vector<hsize_t> sizes(static_cast<size_t>(ndim));
    H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    // What is claimed must be there, whatever the compression; fill values take no place.
    constexpr double kMostCompressed = 2000, kFill = 64 << 20;
    double bytes = static_cast<double>(itemsize(dtype));
    for (const hsize_t size : sizes) bytes *= static_cast<double>(size);
    if (bytes > kFill + kMostCompressed * static_cast<double>(H5Dget_storage_size(data))) {
      fail(key, "claims to have more values than the file can hold");
    }
    Array array = empty(Shape(sizes.begin(), sizes.end()), dtype);
    if (array.size() == 0) return array;
    const bool is_wide =
        H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 8 && H5Tget_sign(type) == H5T_SGN_NONE;
    const H5Type memory = is_wide ? H5Type(H5Tcopy(H5T_NATIVE_UINT64)) : memory_type(dtype);
    if (H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.raw_data()) < 0) {
      fail(key, "cannot be read: " + hdf5_error());
    }
    if (is_wide) {
      const auto* const values = static_cast<const uint64_t*>(array.raw_data());
      const auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      if (std::any_of(values, values + array.size(), [=](uint64_t value) { return value > most; })) {
        fail(key, "has numbers above what int64 holds");
      }
    }
    return array;
  }

  Entry read_text(const std::string& key, hid_t data, hid_t space, hid_t type) const {
    if (H5Sget_simple_extent_npoints(space) != 1) fail(key, "is an array of strings");
    Entry entry;
    entry.is_text = true;
    if (H5Tis_variable_str(type) > 0) {
      const H5Type memory(H5Tcopy(type));
      char* text = nullptr;
      if (H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) < 0) fail(key, "cannot be read: " + hdf5_error());
      if (text != nullptr) entry.text = text;
      H5Dvlen_reclaim(memory, space, H5P_DEFAULT, &text);
      return entry;
    }
    const size_t size = H5Tget_size(type);
    if (size > H5Dget_storage_size(data)) fail(key, "claims to be a longer string than the file can hold");
    entry.text.resize(size);
    if (H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, entry.text.data()) < 0) {
      fail(key, "cannot be read: " + hdf5_error());
    }
    entry.text.resize(entry.text.find_last_not_of('\0') + 1);
    return entry;
  }

  std::string path;
  H5File file;
  std::vector<std::string> keys;
};

Hdf5Reader::Hdf5Reader(const std::string& path) : state_{std::make_shared<const State>(path)} {}

const std::string& Hdf5Reader::path() const noexcept { return state_->path; }
std::vector<std::string> Hdf5Reader::keys() const { return state_->keys; }
bool Hdf5Reader::contains(const std::string& key) const {
  const auto& keys = state_->keys;
  return std::find(keys.begin(), keys.end(), clean_key(key)) != keys.end();
}
Entry Hdf5Reader::value(const std::string& key) const {
  if (!contains(key))
    throw KeyError("hdf5: " + path() + " has no entry '" + key + "' but " + some_keys(keys(), "entries"));
  const Hdf5Session session;
  return state_->read(clean_key(key));
}

void save_hdf5_dictionary(const std::string& path, const Dictionary& dictionary, const SaveHdf5Options& options) {
  const int level = options.compression;
  argument::require(level >= 0 && level <= 9, "save_hdf5", "compression", level, "be in [0, 9]");
  const Hdf5Session session;
  Hdf5Writer writer(path, options);
  for (const auto& [key, entry] : dictionary) writer.add(key, entry);
  writer.commit();
}

}  // namespace kusari::serializers

#else

namespace kusari::serializers {
namespace {

[[noreturn]] void refuse_hdf5(const char* call, const std::string& path) {
  throw IoError(std::string(call) + ": " + path +
                ": this build has no libhdf5: install it (Debian: libhdf5-dev) and build Kusari again (CMake option "
                "KUSARI_HDF5)");
}

}  // namespace

bool has_hdf5() noexcept { return false; }

struct Hdf5Reader::State {
  std::string path;
};

Hdf5Reader::Hdf5Reader(const std::string& path) { refuse_hdf5("load_hdf5", path); }
const std::string& Hdf5Reader::path() const noexcept { return state_->path; }
std::vector<std::string> Hdf5Reader::keys() const { return {}; }
bool Hdf5Reader::contains(const std::string&) const { return false; }
Entry Hdf5Reader::value(const std::string&) const { return {}; }

void save_hdf5_dictionary(const std::string& path, const Dictionary&, const SaveHdf5Options&) {
  refuse_hdf5("save_hdf5", path);
}

}  // namespace kusari::serializers

#endif

namespace kusari::serializers {

Array Hdf5Reader::array(const std::string& key) const {
  const Entry found = value(key);
  if (found.is_text) throw TypeError("hdf5: " + path() + ": entry '" + key + "' is a string, not an array");
  return found.array;
}

HDF5Deserializer::HDF5Deserializer(const Hdf5Reader& file, LoadOptions options)
    : EntryDeserializer("load_hdf5", std::make_shared<const Hdf5Reader>(file), std::move(options)) {}

}  // namespace kusari::serializers
