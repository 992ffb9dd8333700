# Layers, lengths, format, exported symbols
dist_check_SCRIPTS += %D%/layers.sh %D%/sizes.sh %D%/format.sh %D%/exports.sh
