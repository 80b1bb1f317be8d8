#!/bin/bash
#: args --wrap "python train.py" train.sh
