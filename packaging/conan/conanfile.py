"""The recipe of Kusari for Conan 2. In a checkout:

    conan create packaging/conan --build=missing               # third-party libraries from ConanCenter
    conan create packaging/conan -o "&:system_packages=True"   # from the system (tools/install_packages)
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

# What the library can do without: an option, Kusari's option of CMake, and the package of ConanCenter.
OPTIONAL = {
    "with_onednn": ("KUSARI_ONEDNN", None),
    "with_curl": ("KUSARI_CURL", "libcurl/[>=7.78 <9]"),
    "with_jpeg": ("KUSARI_JPEG", "libjpeg-turbo/[>=3.0 <4]"),
    "with_png": ("KUSARI_PNG", "libpng/[>=1.6 <2]"),
    "with_pcre2": ("KUSARI_PCRE2", "pcre2/[>=10.40 <11]"),
    "with_pugixml": ("KUSARI_PUGIXML", "pugixml/[>=1.13 <2]"),
    "with_hdf5": ("KUSARI_HDF5", "hdf5/[>=1.14 <2]"),
    "with_onnx": ("KUSARI_ONNX", "protozero/[>=1.7 <2]"),
}
SOURCES = ("CMakeLists.txt", "LICENSE", "kusari.h", "onnx.h", "cmake/*", "cuda/*", "framework/*", "iterators/*", "mpi/*",
           "optimizers/*", "updaters/*", "tools/new_project")


class KusariConan(ConanFile):
    name = "kusari"
    license = "MIT"
    description = "Define-by-run deep learning in C++20"
    topics = ("deep-learning", "neural-network", "autograd", "chainer")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "system_packages": [True, False], "inference": [True, False],
               **{name: [True, False] for name in OPTIONAL}}
    default_options = {"shared": True, "fPIC": True, "system_packages": False, "inference": False,
                       **{name: name in ("with_jpeg", "with_png", "with_onnx") for name in OPTIONAL}}

    def set_version(self):
        header = load(self, os.path.join(self._checkout(), "framework", "core", "version.h"))
        self.version = re.search(r'define KUSARI_VERSION "(.*)"', header).group(1)

    def _checkout(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self._checkout(), self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Kusari is for Linux so far")
        if self.options.with_onednn and not self.options.system_packages:
            raise ConanInvalidConfiguration("with_onednn needs system_packages: the recipe knows no package of oneDNN")

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.system_packages:
            return
        # No public header includes one; a program that links the static library links them too.
        self.requires("eigen/[>=3.4 <4]")
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("spdlog/[>=1.10 <2]")
        self.requires("zlib/[>=1.2.11 <2]")
        for option, (_, package) in OPTIONAL.items():
            if package and self.options.get_safe(option):
                self.requires(package)

    def generate(self):
        toolchain = CMakeToolchain(self)
        variables = {"KUSARI_BUILD_TESTS": False, "KUSARI_BUILD_EXAMPLES": False, "KUSARI_BUILD_TOOLS": False, "KUSARI_WERROR": False,
                     "KUSARI_CUDA": "OFF", "KUSARI_MPI": "OFF", "KUSARI_UNITY": True,
                     "KUSARI_INFERENCE": bool(self.options.inference)}
        for option, (variable, _) in OPTIONAL.items():
            variables[variable] = "ON" if self.options.get_safe(option) else "OFF"
        toolchain.cache_variables.update(variables)
        toolchain.generate()
        deps = CMakeDeps(self)
        # The names that cmake/Find*.cmake give.
        for package, file_name, target in (("pcre2", "PCRE2", "PCRE2::PCRE2"), ("hdf5", "Hdf5", "Hdf5::hdf5"),
                                           ("protozero", "Protozero", "Protozero::Protozero")):
            deps.set_property(package, "cmake_file_name", file_name)
            deps.set_property(package, "cmake_target_name", target)
        deps.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # find_package(kusari) reads the library's own files.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "kusari"))
        self.cpp_info.libs = ["kusari"]
