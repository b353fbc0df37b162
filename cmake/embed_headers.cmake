# Writes OUTPUT, a source that holds the texts of HEADERS (paths below ROOT) for NVRTC:
#   cmake -DROOT=... -DHEADERS=a.h,b.h -DOUTPUT=... -P embed_headers.cmake
string(REPLACE "," ";" HEADERS "${HEADERS}")
set(text "#include \"kusari/cuda/runtime/nvrtc_headers.h\"\n\nnamespace kusari::cuda {\n\nconst NvrtcHeader kNvrtcHeaders[] = {\n")
list(LENGTH HEADERS count)
foreach(header ${HEADERS})
  file(READ "${ROOT}/${header}" content)
  string(APPEND text "    {\"kusari/${header}\", R\"kusari(${content})kusari\"},\n")
endforeach()
string(APPEND text "};\nconst int kNvrtcHeaderCount = ${count};\n\n}  // namespace kusari::cuda\n")
file(WRITE "${OUTPUT}" "${text}")
