NAME = 'helper of two'
