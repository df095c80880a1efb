# Asio and Beast are compiled once instead of in every file that includes them.
add_library(penstock_boost STATIC cmake/boost/asio.cc cmake/boost/beast.cc)
set_target_properties(penstock_boost PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
set(boost_once BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION)
target_compile_definitions(penstock_boost PRIVATE ${boost_once})
target_link_libraries(penstock_boost PRIVATE Threads::Threads)
# Every target that links Boost has the same definitions.
set_property(TARGET Boost::headers APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS ${boost_once})
set_property(TARGET Boost::headers APPEND PROPERTY INTERFACE_LINK_LIBRARIES penstock_boost)
