NAME = 'helper of one'
