# The checkout in which the port lies: `vcpkg install kusari --overlay-ports=packaging/vcpkg`.
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    curl KUSARI_CURL
    hdf5 KUSARI_HDF5
    inference KUSARI_INFERENCE
    jpeg KUSARI_JPEG
    onednn KUSARI_ONEDNN
    onnx KUSARI_ONNX
    pcre2 KUSARI_PCRE2
    png KUSARI_PNG
    pugixml KUSARI_PUGIXML
)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${features}
    -DKUSARI_BUILD_TESTS=OFF
    -DKUSARI_BUILD_EXAMPLES=OFF
    -DKUSARI_BUILD_TOOLS=OFF
    -DKUSARI_WERROR=OFF
    -DKUSARI_CCACHE=OFF
    -DKUSARI_UNITY=ON
    -DKUSARI_CUDA=OFF
    -DKUSARI_MPI=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME kusari CONFIG_PATH lib/cmake/kusari)
vcpkg_fixup_pkgconfig()

file(INSTALL "${CURRENT_PACKAGES_DIR}/bin/kusari-new-project" DESTINATION "${CURRENT_PACKAGES_DIR}/tools/kusari"
     USE_SOURCE_PERMISSIONS)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/bin" "${CURRENT_PACKAGES_DIR}/debug/bin"
     "${CURRENT_PACKAGES_DIR}/debug/include")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/kusari")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
